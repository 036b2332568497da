import java.io.PrintStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Random;
import java.util.TreeMap;
import org.rocksdb.ColumnFamilyDescriptor;
import org.rocksdb.ColumnFamilyHandle;
import org.rocksdb.ColumnFamilyOptions;
import org.rocksdb.CompactRangeOptions;
import org.rocksdb.DBOptions;
import org.rocksdb.FlushOptions;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.RocksIterator;

/**
 * Databases with plain and cuckoo tables, for the interoperation tests and for
 * testdata. Needs the jar of Maven's org.rocksdb:rocksdbjni on the class path.
 *
 * <pre>
 * java -cp JAR InteropTables.java write DB SEED KEYS FAMILY...
 *     writes a new database and prints what it must hold: a compacted table,
 *     a flushed one over it, and writes that are only in the log
 * java -cp JAR InteropTables.java read DB KEYS FAMILY...
 *     prints the content of a database: every iterator reads forward, and
 *     every key must be found
 * </pre>
 *
 * FAMILY is NAME|OPTIONS, the options as RocksDB takes them from a string. The
 * first family is "default". KEYS is "fixed" for keys of 8 and values of 16
 * bytes, "mixed" for other lengths. Only the former are read from memory maps,
 * without which RocksDB reads no cuckoo tables, and with which it misreads plain
 * tables of the encoding kPrefix whose keys differ in length.
 *
 * Content is JSON: column family -> key -> value, both in hexadecimal. What
 * "write" prints comes from a model of its writes, not from the database.
 */
public final class InteropTables {
    private static final HexFormat HEX = HexFormat.of();
    private static final int KEYS = 300;

    private final RocksDB db;
    private final List<ColumnFamilyHandle> families = new ArrayList<>();
    private final List<String> names = new ArrayList<>();
    private final TreeMap<String, TreeMap<byte[], byte[]>> content = new TreeMap<>();

    private InteropTables(String path, boolean maps, List<String> specs) throws RocksDBException {
        List<ColumnFamilyDescriptor> all = new ArrayList<>();
        for (String spec : specs) {
            int bar = spec.indexOf('|');
            String name = spec.substring(0, bar);
            names.add(name);
            content.put(name, new TreeMap<>(Arrays::compareUnsigned));
            all.add(new ColumnFamilyDescriptor(name.getBytes(), options(spec.substring(bar + 1))));
        }
        DBOptions options = new DBOptions()
            .setCreateIfMissing(true)
            .setCreateMissingColumnFamilies(true)
            .setAllowMmapReads(maps);
        db = RocksDB.open(options, path, all, families);
    }

    /** Options from "name=value;name={...}". */
    private static ColumnFamilyOptions options(String text) {
        Properties properties = new Properties();
        int depth = 0;
        int start = 0;
        for (int i = 0; i <= text.length(); i++) {
            char c = i < text.length() ? text.charAt(i) : ';';
            depth += c == '{' ? 1 : c == '}' ? -1 : 0;
            if (c == ';' && depth == 0) {
                String one = text.substring(start, i);
                int equals = one.indexOf('=');
                if (equals > 0) {
                    properties.put(one.substring(0, equals), one.substring(equals + 1));
                }
                start = i + 1;
            }
        }
        if (properties.isEmpty()) {
            return new ColumnFamilyOptions();
        }
        ColumnFamilyOptions options =
            ColumnFamilyOptions.getColumnFamilyOptionsFromProps(properties);
        if (options == null) {
            throw new IllegalArgumentException(text);
        }
        return options;
    }

    private static byte[] key(int number, boolean mixed) {
        String key = String.format("%04d%04d", number / 40, number);
        if (mixed && number % 3 == 1) {
            key += "-and-more".repeat(1 + number % 11);
        }
        return key.getBytes();
    }

    private static byte[] value(Random random, boolean mixed) {
        int length = 16;
        if (mixed) {
            length = random.nextInt(100) < 2 ? random.nextInt(6000) : random.nextInt(50);
        }
        byte[] value = new byte[length];
        random.nextBytes(value);
        return value;
    }

    private void put(int family, byte[] key, byte[] value) throws RocksDBException {
        db.put(families.get(family), key, value);
        content.get(names.get(family)).put(key, value);
    }

    private void write(Random random, boolean mixed) throws RocksDBException {
        for (int f = 0; f < families.size(); f++) {
            for (int i = 0; i < KEYS; i++) {
                put(f, key(i, mixed), value(random, mixed));
            }
            flush(f);
            CompactRangeOptions options = new CompactRangeOptions();
            options.setBottommostLevelCompaction(
                CompactRangeOptions.BottommostLevelCompaction.kForce);
            db.compactRange(families.get(f), null, null, options);
            for (int i = 0; i < KEYS / 6; i++) {
                byte[] key = key(random.nextInt(KEYS + 50), mixed);
                if (random.nextInt(4) == 0) {
                    db.delete(families.get(f), key);
                    content.get(names.get(f)).remove(key);
                } else {
                    put(f, key, value(random, mixed));
                }
            }
            flush(f);
        }
        for (int f = 0; f < families.size(); f++) {
            put(f, key(7, mixed), value(random, mixed));
        }
    }

    private void flush(int family) throws RocksDBException {
        db.flush(new FlushOptions().setWaitForFlush(true), families.get(family));
    }

    private void read() throws RocksDBException {
        for (int f = 0; f < families.size(); f++) {
            TreeMap<byte[], byte[]> pairs = content.get(names.get(f));
            try (RocksIterator it = db.newIterator(families.get(f))) {
                for (it.seekToFirst(); it.isValid(); it.next()) {
                    pairs.put(it.key(), it.value());
                }
                it.status();
            }
            for (Map.Entry<byte[], byte[]> pair : pairs.entrySet()) {
                if (!Arrays.equals(pair.getValue(), db.get(families.get(f), pair.getKey()))) {
                    throw new IllegalStateException(
                        names.get(f) + ": two ways to read differ at " + new String(pair.getKey()));
                }
            }
            byte[] absent = "99999999".getBytes();
            if (db.get(families.get(f), absent) != null) {
                throw new IllegalStateException(names.get(f) + ": a key that is not there");
            }
        }
    }

    private void print(PrintStream out) {
        StringBuilder text = new StringBuilder("{");
        String comma = "";
        for (Map.Entry<String, TreeMap<byte[], byte[]>> family : content.entrySet()) {
            text.append(comma).append('"').append(family.getKey()).append("\":{");
            comma = "";
            for (Map.Entry<byte[], byte[]> pair : family.getValue().entrySet()) {
                text.append(comma).append('"').append(HEX.formatHex(pair.getKey()));
                text.append("\":\"").append(HEX.formatHex(pair.getValue())).append('"');
                comma = ",";
            }
            text.append('}');
            comma = ",";
        }
        out.println(text.append('}'));
    }

    public static void main(String[] args) throws RocksDBException {
        RocksDB.loadLibrary();
        List<String> all = Arrays.asList(args);
        boolean writes = args[0].equals("write");
        int first = writes ? 4 : 3;
        boolean mixed = args[first - 1].equals("mixed");
        InteropTables tables =
            new InteropTables(args[1], !mixed, all.subList(first, args.length));
        if (writes) {
            tables.write(new Random(Long.parseLong(args[2])), mixed);
        } else {
            tables.read();
        }
        tables.families.forEach(ColumnFamilyHandle::close);
        tables.db.closeE();
        tables.print(System.out);
    }
}
