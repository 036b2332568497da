#!/usr/bin/env python3
"""Wide columns of a recent RocksDB, for the interoperation tests: needs `pip install rocksdict`.

    interop_entities.py scan DB        prints the columns of DB's keys
    interop_entities.py edit DB SEED   makes DB or edits it, then prints what it
                                       must hold; its last writes are only in
                                       its log

Columns are JSON: key -> list of name and value, all in hexadecimal.
"""

import json
import random
import sys

from rocksdict import Options, Rdict, WriteBatch

KEYS = 60
NAMES = [b"", b"a", b"b", b"name"]


def open_db(path):
    options = Options(raw_mode=True)
    options.create_if_missing(True)
    return Rdict(path, options)


def walk(db, back=False):
    cursor = db.iter()
    cursor.seek_to_last() if back else cursor.seek_to_first()
    shown = {}
    while cursor.valid():
        columns = list(cursor.columns())
        default = dict(columns).get(b"", b"")
        assert cursor.value() == default, (cursor.key(), columns)
        shown[cursor.key()] = columns
        cursor.prev() if back else cursor.next()
    return shown


def scan(db):
    content = walk(db)
    assert walk(db, back=True) == content
    for key, columns in content.items():
        assert list(db.get_entity(key)) == columns, key
    return content


def columns_of(rng):
    names = [name for name in NAMES if rng.random() < 0.6]
    return [(name, rng.randbytes(rng.randrange(40))) for name in names]


def edit(db, rng, content):
    for step in range(300):
        key = b"k%03d" % rng.randrange(KEYS)
        kind = rng.randrange(4)
        columns = columns_of(rng)
        names, values = [n for n, _ in columns], [v for _, v in columns]
        if kind == 0:
            db.put_entity(key, names, values)
        elif kind == 1:
            batch = WriteBatch(raw_mode=True)
            batch.set_default_column_family(db.get_column_family_handle("default"))
            batch.put_entity(key, names, values)
            db.write(batch)
        elif kind == 2:
            value = rng.randbytes(rng.randrange(40))
            db.put(key, value)
            columns = [(b"", value)]
        else:
            db.delete(key)
            columns = None
        if columns is None:
            content.pop(key, None)
        else:
            content[key] = sorted(columns)
        if step in (100, 200):
            db.flush()
    return content


def main():
    command, path = sys.argv[1:3]
    db = open_db(path)
    content = scan(db)
    if command == "edit":
        content = edit(db, random.Random(int(sys.argv[3])), content)
        assert scan(db) == content
    db.close()
    lines = {
        key.hex(): [[name.hex(), value.hex()] for name, value in columns]
        for key, columns in content.items()
    }
    print(json.dumps(lines))


main()
