import java.io.PrintStream;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.rocksdb.ColumnFamilyDescriptor;
import org.rocksdb.ColumnFamilyHandle;
import org.rocksdb.ColumnFamilyOptions;
import org.rocksdb.CompactRangeOptions;
import org.rocksdb.CompactionStyle;
import org.rocksdb.DBOptions;
import org.rocksdb.DbPath;
import org.rocksdb.FlushOptions;
import org.rocksdb.LiveFileMetaData;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.RocksIterator;

/**
 * The newest RocksDB with tables in several directories, for the interoperation tests.
 *
 * <pre>
 * java -cp JAR InteropPaths.java DB SEED FIRST SECOND OWN
 * </pre>
 *
 * Opens DB, with the column families "default" and "own", with the paths FIRST (100 KB) and
 * SECOND, and with OWN (60 KB) and SECOND for "own". With a SEED other than 0 it writes,
 * compacts by itself, and writes some more; missing column families are created. Prints the
 * content as JSON, then a line with the number of tables in each of the three directories.
 */
public final class InteropPaths {
    private static final HexFormat HEX = HexFormat.of();
    private static final List<String> NAMES = List.of("default", "own");

    private static void edit(RocksDB db, List<ColumnFamilyHandle> families, Random random, int count)
            throws RocksDBException {
        for (int n = 0; n < count; n++) {
            ColumnFamilyHandle family = families.get(random.nextInt(families.size()));
            byte[] key = String.format("k%06d", random.nextInt(4000)).getBytes();
            if (random.nextInt(10) == 0) {
                db.delete(family, key);
            } else {
                byte[] value = new byte[100];
                random.nextBytes(value);
                db.put(family, key, value);
            }
        }
    }

    private static void print(RocksDB db, List<ColumnFamilyHandle> families) throws RocksDBException {
        StringBuilder text = new StringBuilder("{");
        String comma = "";
        for (int f = 0; f < families.size(); f++) {
            text.append(comma).append('"').append(NAMES.get(f)).append("\":{");
            comma = "";
            try (RocksIterator it = db.newIterator(families.get(f))) {
                for (it.seekToFirst(); it.isValid(); it.next()) {
                    text.append(comma).append('"').append(HEX.formatHex(it.key()));
                    text.append("\":\"").append(HEX.formatHex(it.value())).append('"');
                    comma = ",";
                }
                it.status();
            }
            text.append('}');
            comma = ",";
        }
        System.out.println(text.append('}'));
    }

    public static void main(String[] arguments) throws Exception {
        RocksDB.loadLibrary();
        long seed = Long.parseLong(arguments[1]);
        Path first = Paths.get(arguments[2]);
        Path second = Paths.get(arguments[3]);
        Path own = Paths.get(arguments[4]);
        DBOptions options = new DBOptions();
        options.setCreateIfMissing(true);
        options.setCreateMissingColumnFamilies(true);
        options.setDbPaths(List.of(new DbPath(first, 100 << 10), new DbPath(second, 1L << 40)));
        List<ColumnFamilyDescriptor> descriptors = new ArrayList<>();
        for (String name : NAMES) {
            ColumnFamilyOptions family = new ColumnFamilyOptions();
            family.setWriteBufferSize(64 << 10);
            family.setTargetFileSizeBase(16 << 10);
            family.setMaxBytesForLevelBase(48 << 10);
            family.setMaxBytesForLevelMultiplier(3);
            family.setLevel0FileNumCompactionTrigger(2);
            if (name.equals("own")) {
                family.setCfPaths(List.of(new DbPath(own, 60 << 10), new DbPath(second, 0)));
                family.setCompactionStyle(CompactionStyle.UNIVERSAL);
            }
            descriptors.add(new ColumnFamilyDescriptor(name.getBytes(), family));
        }
        List<ColumnFamilyHandle> families = new ArrayList<>();
        RocksDB db = RocksDB.open(options, arguments[0], descriptors, families);
        if (seed != 0) {
            Random random = new Random(seed);
            for (int round = 0; round < 10; round++) {
                edit(db, families, random, 1500);
                try (FlushOptions flush = new FlushOptions().setWaitForFlush(true)) {
                    db.flush(flush, families);
                }
            }
            edit(db, families, random, 50);
        }
        print(db, families);
        int[] counts = new int[3];
        for (LiveFileMetaData file : db.getLiveFilesMetaData()) {
            List<String> dirs = List.of(first.toString(), second.toString(), own.toString());
            counts[dirs.indexOf(file.path())]++;
        }
        System.out.println(counts[0] + " " + counts[1] + " " + counts[2]);
        families.forEach(ColumnFamilyHandle::close);
        db.closeE();
    }
}
