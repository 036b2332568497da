#!/usr/bin/env python3
"""A recent RocksDB for the interoperation tests: needs `pip install rocksdict`.

    interop.py scan DB          prints the content of DB
    interop.py write DB SEED    makes DB or edits it, then prints what it must
                                hold; its last writes are only in its log
    interop.py rewrite DB SEED  as write, with the options in DB's OPTIONS file,
                                all tables being written anew

Content is JSON: column family -> key -> value, both in hexadecimal. What
`write` and `rewrite` print comes from a model of their writes, not from the
database.
"""

import json
import random
import shutil
import sys
from pathlib import Path

from rocksdict import BottommostLevelCompaction, CompactOptions, Options, Rdict, WriteBatch

FAMILIES = ["default", "one"]
KEYS = 1000


def raw_options(families_missing=False):
    options = Options(raw_mode=True)
    options.create_if_missing(True)
    options.create_missing_column_families(families_missing)
    options.set_write_buffer_size(64 << 10)
    options.set_target_file_size_base(16 << 10)
    options.set_max_bytes_for_level_base(64 << 10)
    return options


def open_all(path, names, new=False):
    """Opens the database; returns it and its column families by name."""
    families = {name: raw_options() for name in names}
    db = Rdict(path, raw_options(new), column_families=families)
    return db, {name: db.get_column_family(name) for name in names}


def read_all(families):
    return {name: dict(family.items()) for name, family in families.items()}


def check_reads(families, content):
    """Backward iteration and point reads agree with the forward scan."""
    for name, pairs in content.items():
        backward = dict(families[name].items(backwards=True))
        assert list(backward) == sorted(pairs, reverse=True), name
        assert backward == pairs, name
        for key, value in pairs.items():
            assert families[name].get(key) == value, (name, key)


def scan(path):
    db, families = open_all(path, Rdict.list_cf(path))
    content = read_all(families)
    check_reads(families, content)
    db.close()
    return content


def key_of(number):
    return b"k%06d" % number


def make_value(rng):
    length = rng.choice([0, 10, 80, 200, 3000]) if rng.random() < 0.2 else rng.randrange(120)
    return rng.randbytes(length // 2) + b"." * (length - length // 2)


def edit(rng, families, model, count):
    """`count` batches of random operations, on the database and the model."""
    for _ in range(count):
        name = rng.choice(list(families))
        family, pairs = families[name], model[name]
        batch = WriteBatch(raw_mode=True)
        batch.set_default_column_family(family_handle(families, name))
        for _ in range(rng.randrange(1, 6)):
            key = key_of(rng.randrange(KEYS))
            if rng.random() < 0.75:
                value = make_value(rng)
                batch.put(key, value)
                pairs[key] = value
            else:
                batch.delete(key)
                pairs.pop(key, None)
        family.write(batch)
        if rng.random() < 0.03:
            start = rng.randrange(KEYS)
            begin, end = key_of(start), key_of(start + rng.randrange(1, 40))
            family.delete_range(begin, end)
            for key in [k for k in pairs if begin <= k < end]:
                del pairs[key]


def family_handle(families, name):
    return families["default"].get_column_family_handle(name)


def write(path, seed):
    rng = random.Random(seed)
    new = not Path(path, "CURRENT").exists()
    names = FAMILIES if new else Rdict.list_cf(path)
    work = path + ".open"
    if not new:
        shutil.move(path, work)
    db, families = open_all(work, names, new)
    model = read_all(families)
    for _ in range(3):
        edit(rng, families, model, 120)
        families[rng.choice(names)].flush()
    if rng.random() < 0.5:
        families[rng.choice(names)].compact_range(None, None)
    edit(rng, families, model, 15)
    leave(db, work, path)
    return model


def leave(db, work, path):
    """Copies the database as it is: closing would flush what its log holds."""
    db.flush_wal(True)
    db.cancel_all_background(True)
    shutil.copytree(work, path)
    shutil.rmtree(work)


def rewrite(path, seed):
    rng = random.Random(seed)
    work = path + ".open"
    shutil.move(path, work)
    options, by_name = Options.load_latest(work, ignore_unknown_options=True)
    db = Rdict(work, options, column_families=by_name)
    families = {name: db.get_column_family(name) for name in by_name}
    model = read_all(families)
    for _ in range(2):
        edit(rng, families, model, 30 * len(families))
        for family in families.values():
            family.flush()
    everything = CompactOptions()
    everything.set_bottommost_level_compaction(BottommostLevelCompaction.force())
    for family in families.values():
        family.compact_range(None, None, everything)
    edit(rng, families, model, 2 * len(families))
    leave(db, work, path)
    return model


def main():
    command, path, *rest = sys.argv[1:]
    commands = {"scan": scan, "write": write, "rewrite": rewrite}
    content = commands[command](path, *map(int, rest))
    in_hex = {
        name: {key.hex(): value.hex() for key, value in pairs.items()}
        for name, pairs in content.items()
    }
    json.dump(in_hex, sys.stdout)


if __name__ == "__main__":
    main()
