import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Properties;
import org.rocksdb.ColumnFamilyDescriptor;
import org.rocksdb.ColumnFamilyHandle;
import org.rocksdb.ColumnFamilyOptions;
import org.rocksdb.CompactRangeOptions;
import org.rocksdb.DBOptions;
import org.rocksdb.FlushOptions;
import org.rocksdb.ReadOptions;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.RocksIterator;
import org.rocksdb.Slice;
import org.rocksdb.WriteBatch;
import org.rocksdb.WriteOptions;

/**
 * The newest RocksDB on a database whose keys have timestamps of 64 bits, for the interoperation
 * tests: needs the jar of Maven's org.rocksdb:rocksdbjni on the class path.
 *
 * <pre>
 * java -cp JAR InteropTimestamps.java DB STEPS
 * </pre>
 *
 * Takes the steps in the file STEPS, one a line:
 *
 * <pre>
 * write HEX    writes a batch, given as its bytes
 * flush        flushes
 * compact      compacts everything
 * show TIME    prints the keys and values at TIME as a line of JSON, in hexadecimal, as an iterator
 *              shows them; fails if look-ups find anything else
 * </pre>
 */
public final class InteropTimestamps {
    private static final HexFormat HEX = HexFormat.of();

    private final RocksDB db;
    private final List<ColumnFamilyHandle> families = new ArrayList<>();

    private InteropTimestamps(String path) throws RocksDBException {
        Properties named = new Properties();
        named.setProperty("comparator", "leveldb.BytewiseComparator.u64ts");
        named.setProperty("merge_operator", "stringappend");
        ColumnFamilyOptions options =
                ColumnFamilyOptions.getColumnFamilyOptionsFromProps(named)
                        .setDisableAutoCompactions(true);
        DBOptions database = new DBOptions().setCreateIfMissing(true);
        byte[] name = RocksDB.DEFAULT_COLUMN_FAMILY;
        List<ColumnFamilyDescriptor> all = List.of(new ColumnFamilyDescriptor(name, options));
        db = RocksDB.open(database, path, all, families);
    }

    private ReadOptions at(long time) {
        ByteBuffer bytes = ByteBuffer.allocate(8).order(ByteOrder.LITTLE_ENDIAN);
        return new ReadOptions().setTimestamp(new Slice(bytes.putLong(time).array()));
    }

    private void show(long time) throws RocksDBException {
        StringBuilder text = new StringBuilder("{\"default\":{");
        String comma = "";
        try (ReadOptions options = at(time);
                RocksIterator all = db.newIterator(families.get(0), options)) {
            for (all.seekToFirst(); all.isValid(); all.next()) {
                byte[] found = db.get(families.get(0), options, all.key());
                if (!java.util.Arrays.equals(found, all.value())) {
                    throw new IllegalStateException("at " + time + ", " + HEX.formatHex(all.key()));
                }
                text.append(comma).append('"').append(HEX.formatHex(all.key()));
                text.append("\":\"").append(HEX.formatHex(all.value())).append('"');
                comma = ",";
            }
            all.status();
        }
        System.out.println(text.append("}}"));
    }

    private void take(String[] step) throws RocksDBException {
        switch (step[0]) {
            case "write" -> {
                try (WriteBatch batch = new WriteBatch(HEX.parseHex(step[1]));
                        WriteOptions options = new WriteOptions()) {
                    db.write(options, batch);
                }
            }
            case "flush" -> db.flush(new FlushOptions().setWaitForFlush(true), families);
            case "compact" -> {
                CompactRangeOptions.BottommostLevelCompaction force =
                        CompactRangeOptions.BottommostLevelCompaction.kForce;
                CompactRangeOptions options =
                        new CompactRangeOptions().setBottommostLevelCompaction(force);
                db.compactRange(families.get(0), null, null, options);
            }
            case "show" -> show(Long.parseLong(step[1]));
            default -> throw new IllegalArgumentException(step[0]);
        }
    }

    public static void main(String[] arguments) throws Exception {
        RocksDB.loadLibrary();
        InteropTimestamps here = new InteropTimestamps(arguments[0]);
        for (String step : Files.readAllLines(Path.of(arguments[1]), StandardCharsets.UTF_8)) {
            here.take(step.split(" "));
        }
        here.db.closeE();
    }
}
