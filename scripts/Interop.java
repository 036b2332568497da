import java.io.PrintStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.rocksdb.BackupEngine;
import org.rocksdb.BackupEngineOptions;
import org.rocksdb.BackupInfo;
import org.rocksdb.Checkpoint;
import org.rocksdb.ColumnFamilyDescriptor;
import org.rocksdb.ColumnFamilyHandle;
import org.rocksdb.CompactRangeOptions;
import org.rocksdb.ConfigOptions;
import org.rocksdb.DBOptions;
import org.rocksdb.Env;
import org.rocksdb.ExportImportFilesMetaData;
import org.rocksdb.FlushOptions;
import org.rocksdb.ImportColumnFamilyOptions;
import org.rocksdb.LiveFileMetaData;
import org.rocksdb.OptionsUtil;
import org.rocksdb.RestoreOptions;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.RocksIterator;
import org.rocksdb.WriteBatch;
import org.rocksdb.WriteOptions;

/**
 * The newest RocksDB for the interoperation tests, with every codec built in:
 * needs the jar of Maven's org.rocksdb:rocksdbjni on the class path.
 *
 * <pre>
 * java -cp JAR Interop.java scan DB           prints the content of DB
 * java -cp JAR Interop.java rewrite DB SEED   edits DB, writes all its tables anew
 *                                             with the options in its OPTIONS file,
 *                                             edits it once more, then prints what it
 *                                             must hold; its last writes are only in
 *                                             its log
 * java -cp JAR Interop.java backup DB DIR     adds a backup of DB to DIR, prints the
 *                                             content of DB
 * java -cp JAR Interop.java restore DB DIR    makes DB of the latest backup in DIR,
 *                                             none of which may be corrupt, and prints
 *                                             its content
 * java -cp JAR Interop.java export DB DIR     exports the default column family of DB to
 *                                             DIR, and imports it from there into a copy
 *                                             "copy", which must be equal; prints the
 *                                             content of DB, then a line for each table
 *                                             in DIR: name, level, size, smallest and
 *                                             largest sequence number
 * </pre>
 *
 * Content is JSON: column family -> key -> value, both in hexadecimal. What
 * "rewrite" prints comes from a model of its writes, not from the database.
 */
public final class Interop {
    private static final HexFormat HEX = HexFormat.of();
    private static final int KEYS = 1000;

    /** Content by column family; keys are ordered as in the database. */
    private static final class Content extends TreeMap<String, TreeMap<byte[], byte[]>> {
        private static final long serialVersionUID = 1L;

        TreeMap<byte[], byte[]> family(String name) {
            return computeIfAbsent(name, n -> new TreeMap<>(Arrays::compareUnsigned));
        }

        void print(PrintStream out) {
            StringBuilder text = new StringBuilder("{");
            String comma = "";
            for (Map.Entry<String, TreeMap<byte[], byte[]>> family : entrySet()) {
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
    }

    private final RocksDB db;
    private final List<ColumnFamilyHandle> families = new ArrayList<>();
    private final List<String> names = new ArrayList<>();

    /** Opens the database with the options that its OPTIONS file has. */
    private Interop(String path) throws RocksDBException {
        ConfigOptions config = new ConfigOptions();
        config.setIgnoreUnknownOptions(true);
        config.setEnv(Env.getDefault());
        DBOptions options = new DBOptions();
        List<ColumnFamilyDescriptor> all = new ArrayList<>();
        OptionsUtil.loadLatestOptions(config, path, options, all);
        db = RocksDB.open(options, path, all, families);
        for (ColumnFamilyDescriptor one : all) {
            names.add(new String(one.getName()));
        }
    }

    private void close() throws RocksDBException {
        families.forEach(ColumnFamilyHandle::close);
        db.closeE();
    }

    /** Reads everything; backward iteration and point reads must agree. */
    private Content read() throws RocksDBException {
        Content content = new Content();
        for (int f = 0; f < families.size(); f++) {
            TreeMap<byte[], byte[]> pairs = content.family(names.get(f));
            try (RocksIterator it = db.newIterator(families.get(f))) {
                for (it.seekToFirst(); it.isValid(); it.next()) {
                    pairs.put(it.key(), it.value());
                }
                it.status();
                int backward = 0;
                for (it.seekToLast(); it.isValid(); it.prev()) {
                    require(pairs.get(it.key()), it.value(), names.get(f));
                    backward++;
                }
                it.status();
                if (backward != pairs.size()) {
                    throw new IllegalStateException(names.get(f) + ": " + backward + " backward");
                }
            }
            for (Map.Entry<byte[], byte[]> pair : pairs.entrySet()) {
                require(pair.getValue(), db.get(families.get(f), pair.getKey()), names.get(f));
            }
        }
        return content;
    }

    private static void require(byte[] wanted, byte[] found, String what) {
        if (!Arrays.equals(wanted, found)) {
            throw new IllegalStateException(what + ": two ways to read differ");
        }
    }

    private static byte[] key(int number) {
        return String.format("k%06d", number).getBytes();
    }

    /** Half of it noise, some longer than a block. */
    private static byte[] value(Random random) {
        int length = random.nextInt(100) < 3 ? random.nextInt(6000) : random.nextInt(160);
        byte[] value = new byte[length];
        byte[] noise = new byte[length / 2];
        random.nextBytes(noise);
        Arrays.fill(value, (byte) '.');
        System.arraycopy(noise, 0, value, 0, noise.length);
        return value;
    }

    /** Batches of random operations, on the database and the model. */
    private void edit(Random random, Content model, int batches) throws RocksDBException {
        for (int n = 0; n < batches; n++) {
            int f = random.nextInt(families.size());
            ColumnFamilyHandle family = families.get(f);
            TreeMap<byte[], byte[]> pairs = model.family(names.get(f));
            try (WriteBatch batch = new WriteBatch(); WriteOptions options = new WriteOptions()) {
                for (int op = random.nextInt(6); op >= 0; op--) {
                    byte[] key = key(random.nextInt(KEYS));
                    int what = random.nextInt(100);
                    if (what < 75) {
                        byte[] value = value(random);
                        batch.put(family, key, value);
                        pairs.put(key, value);
                    } else if (what < 95) {
                        batch.delete(family, key);
                        pairs.remove(key);
                    } else {
                        int from = random.nextInt(KEYS);
                        byte[] begin = key(from);
                        byte[] end = key(from + 1 + random.nextInt(40));
                        batch.deleteRange(family, begin, end);
                        pairs.subMap(begin, end).clear();
                    }
                }
                db.write(options, batch);
            }
        }
    }

    private Content rewrite(long seed) throws RocksDBException {
        Random random = new Random(seed);
        Content model = read();
        edit(random, model, 30 * families.size());
        try (FlushOptions flush = new FlushOptions().setWaitForFlush(true)) {
            db.flush(flush, families);
        }
        edit(random, model, 20 * families.size());
        try (CompactRangeOptions all = new CompactRangeOptions()) {
            all.setBottommostLevelCompaction(
                    CompactRangeOptions.BottommostLevelCompaction.kForce);
            for (ColumnFamilyHandle family : families) {
                db.compactRange(family, null, null, all);
            }
        }
        edit(random, model, 2 * families.size());
        return model;
    }

    /** Adds a backup, and reads it again. */
    private Content backUp(String dir) throws RocksDBException {
        try (BackupEngineOptions options = new BackupEngineOptions(dir);
                BackupEngine engine = BackupEngine.open(Env.getDefault(), options)) {
            engine.createNewBackupWithMetadata(db, "from Java", false);
        }
        requireWhole(dir);
        return read();
    }

    /** Exports the default column family; returns a line for each table. */
    private List<String> export(String dir) throws RocksDBException {
        List<String> lines = new ArrayList<>();
        try (FlushOptions flush = new FlushOptions().setWaitForFlush(true)) {
            db.flush(flush, families);
        }
        // The tables that are listed must be those that are exported.
        db.pauseBackgroundWork();
        try (Checkpoint checkpoint = Checkpoint.create(db);
                ExportImportFilesMetaData exported =
                        checkpoint.exportColumnFamily(families.get(0), dir);
                ImportColumnFamilyOptions how = new ImportColumnFamilyOptions()) {
            for (LiveFileMetaData file : db.getLiveFilesMetaData()) {
                if (new String(file.columnFamilyName()).equals(names.get(0))) {
                    lines.add(String.join(" ", file.fileName(), "" + file.level(),
                            "" + file.size(), "" + file.smallestSeqno(),
                            "" + file.largestSeqno()));
                }
            }
            db.continueBackgroundWork();
            ColumnFamilyDescriptor copy = new ColumnFamilyDescriptor("copy".getBytes());
            families.add(db.createColumnFamilyWithImport(copy, how, exported));
            names.add("copy");
        }
        Content both = read();
        for (Map.Entry<byte[], byte[]> pair : both.family(names.get(0)).entrySet()) {
            require(pair.getValue(), both.family("copy").remove(pair.getKey()), "the copy");
        }
        if (!both.family("copy").isEmpty()) {
            throw new IllegalStateException("the copy has more");
        }
        return lines;
    }

    private static void restore(String path, String dir) throws RocksDBException {
        requireWhole(dir);
        try (BackupEngineOptions options = new BackupEngineOptions(dir);
                BackupEngine engine = BackupEngine.open(Env.getDefault(), options);
                RestoreOptions how = new RestoreOptions(false)) {
            engine.restoreDbFromLatestBackup(path, path, how);
        }
    }

    private static void requireWhole(String dir) throws RocksDBException {
        try (BackupEngineOptions options = new BackupEngineOptions(dir);
                BackupEngine engine = BackupEngine.open(Env.getDefault(), options)) {
            if (engine.getCorruptedBackups().length > 0) {
                throw new IllegalStateException(dir + " has corrupt backups");
            }
            for (BackupInfo info : engine.getBackupInfo()) {
                if (info.appMetadata() == null) {
                    throw new IllegalStateException("backup " + info.backupId() + " has no note");
                }
            }
        }
    }

    public static void main(String[] arguments) throws Exception {
        RocksDB.loadLibrary();
        if (arguments[0].equals("restore")) {
            restore(arguments[1], arguments[2]);
        }
        Interop open = new Interop(arguments[1]);
        List<String> more = new ArrayList<>();
        if (arguments[0].equals("export")) {
            more = open.export(arguments[2]);
        }
        Content content = switch (arguments[0]) {
            case "scan", "restore", "export" -> open.read();
            case "backup" -> open.backUp(arguments[2]);
            case "rewrite" -> open.rewrite(Long.parseLong(arguments[2]));
            default -> throw new IllegalArgumentException(arguments[0]);
        };
        open.close();
        content.print(System.out);
        more.forEach(System.out::println);
    }
}
