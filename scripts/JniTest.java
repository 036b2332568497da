import static java.nio.charset.StandardCharsets.UTF_8;

import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.rocksdb.*;

/** What scripts/jni-test runs: RocksDB's Java classes with the library of crates/jni. */
public class JniTest {
  interface Action {
    void run() throws Exception;
  }

  static byte[] bytes(String text) {
    return text.getBytes(UTF_8);
  }

  static void equal(Object expected, Object found) {
    if (!expected.equals(found)) {
      throw new AssertionError("expected " + expected + ", found " + found);
    }
  }

  static void equal(String expected, byte[] found) {
    equal(expected, found == null ? "null" : new String(found, UTF_8));
  }

  static RocksDBException fails(Action action) throws Exception {
    try {
      action.run();
    } catch (RocksDBException e) {
      return e;
    }
    throw new AssertionError("nothing was thrown");
  }

  static void reads_and_writes(String path) throws Exception {
    try (var options = new Options().setCreateIfMissing(true);
        var db = RocksDB.open(options, path);
        var writes = new WriteOptions().setSync(true);
        var reads = new ReadOptions()) {
      db.put(bytes("river"), bytes("white"));
      db.put(writes, bytes("brook"), bytes("clear"));
      equal("white", db.get(bytes("river")));
      equal("clear", db.get(reads, bytes("brook")));
      equal("null", db.get(bytes("lake")));
      byte[] place = {'-', '-', '-'};
      equal(5, db.get(bytes("river"), place));
      equal("whi", place);
      equal(RocksDB.NOT_FOUND, db.get(bytes("lake"), place));
      equal(Arrays.asList("white", null), db.multiGetAsList(List.of(bytes("river"), bytes("lake")))
          .stream().map(value -> value == null ? null : new String(value, UTF_8)).toList());
      var holder = new Holder<byte[]>();
      equal(true, db.keyMayExist(bytes("river"), holder));
      db.delete(bytes("river"));
      equal(false, db.keyExists(bytes("river")));
      db.singleDelete(bytes("brook"));
      db.put(bytes("a"), bytes("1"));
      db.put(bytes("b"), bytes("2"));
      db.deleteRange(bytes("a"), bytes("b"));
      equal("null", db.get(bytes("a")));
      equal(8L, db.getLatestSequenceNumber() + 1);
    }
  }

  static List<String> keys(RocksIterator iterator) throws Exception {
    var keys = new ArrayList<String>();
    for (iterator.seekToFirst(); iterator.isValid(); iterator.next()) {
      keys.add(new String(iterator.key(), UTF_8) + "=" + new String(iterator.value(), UTF_8));
    }
    iterator.status();
    return keys;
  }

  static void iterators_and_snapshots(String path) throws Exception {
    try (var options = new Options().setCreateIfMissing(true);
        var db = RocksDB.open(options, path);
        var batch = new WriteBatch();
        var writes = new WriteOptions()) {
      for (String key : List.of("b", "d", "f")) {
        batch.put(bytes(key), bytes(key + key));
      }
      batch.setSavePoint();
      batch.delete(bytes("b"));
      batch.rollbackToSavePoint();
      equal(3, batch.count());
      db.write(writes, batch);
      Snapshot before = db.getSnapshot();
      db.put(bytes("c"), bytes("cc"));
      try (var reads = new ReadOptions().setSnapshot(before); var at = db.newIterator(reads)) {
        equal(List.of("b=bb", "d=dd", "f=ff"), keys(at));
      }
      db.releaseSnapshot(before);
      try (var upper = new Slice("d"); var reads = new ReadOptions().setIterateUpperBound(upper);
          var below = db.newIterator(reads)) {
        equal(List.of("b=bb", "c=cc"), keys(below));
      }
      try (var iterator = db.newIterator()) {
        iterator.seek(bytes("cx"));
        equal("d", iterator.key());
        iterator.seekForPrev(bytes("cx"));
        equal("c", iterator.key());
        iterator.prev();
        equal("b", iterator.key());
        iterator.seekToLast();
        equal("ff", iterator.value());
      }
    }
  }

  static void column_families(String path) throws Exception {
    var descriptors = List.of(new ColumnFamilyDescriptor(RocksDB.DEFAULT_COLUMN_FAMILY),
        new ColumnFamilyDescriptor(bytes("lakes")));
    var handles = new ArrayList<ColumnFamilyHandle>();
    try (var options = new DBOptions().setCreateIfMissing(true)
            .setCreateMissingColumnFamilies(true);
        var db = RocksDB.open(options, path, descriptors, handles)) {
      db.put(handles.get(1), bytes("como"), bytes("deep"));
      equal("null", db.get(bytes("como")));
      equal("deep", db.get(handles.get(1), bytes("como")));
      equal("lakes", handles.get(1).getName());
      var seas = db.createColumnFamily(new ColumnFamilyDescriptor(bytes("seas")));
      db.put(seas, bytes("dead"), bytes("salty"));
      equal(2, seas.getID());
      try (var flush = new FlushOptions()) {
        db.flush(flush, List.of(handles.get(1), seas));
      }
      equal(1L, db.getLongProperty(seas, "rocksdb.estimate-num-keys"));
      equal(2L, db.getAggregatedLongProperty("rocksdb.estimate-num-keys"));
      db.compactRange(seas);
      db.dropColumnFamily(seas);
      seas.close();
      handles.forEach(ColumnFamilyHandle::close);
    }
    try (var options = new Options()) {
      equal(List.of(), RocksDB.listColumnFamilies(options, path + "/none"));
      equal(List.of("default", "lakes"), RocksDB.listColumnFamilies(options, path)
          .stream().map(name -> new String(name, UTF_8)).toList());
    }
  }

  static void options_are_honoured(String path) throws Exception {
    try (var options = new Options()) {
      equal("", options.dbLogDir());
      equal("/logs", options.setWalDir("/logs").walDir());
      var levels = List.of(CompressionType.NO_COMPRESSION, CompressionType.LZ4_COMPRESSION);
      equal(List.of(), options.compressionPerLevel());
      equal(levels, options.setCompressionPerLevel(levels).compressionPerLevel());
    }
    try (var statistics = new Statistics(); var cache = new LRUCache(1 << 20);
        var filter = new BloomFilter(); var options = new Options()) {
      var table = new BlockBasedTableConfig().setBlockCache(cache).setFilterPolicy(filter)
          .setBlockSize(8192);
      options.setCreateIfMissing(true).setWriteBufferSize(1 << 20).setStatistics(statistics)
          .setTableFormatConfig(table).setCompactionStyle(CompactionStyle.UNIVERSAL)
          .setCompressionType(CompressionType.LZ4_COMPRESSION).setMaxWriteBufferNumber(3)
          .setInfoLogLevel(InfoLogLevel.ERROR_LEVEL).setIncreaseParallelism(2);
      equal(1L << 20, options.writeBufferSize());
      equal(CompressionType.LZ4_COMPRESSION, options.compressionType());
      equal(CompactionStyle.UNIVERSAL, options.compactionStyle());
      try (var db = RocksDB.open(options, path); var flush = new FlushOptions()) {
        db.put(bytes("river"), bytes("white"));
        db.flush(flush);
        equal("white", db.get(bytes("river")));
        equal(1L, statistics.getAndResetTickerCount(TickerType.NUMBER_KEYS_WRITTEN));
        equal(0L, statistics.getTickerCount(TickerType.NUMBER_KEYS_WRITTEN));
        equal(true, statistics.getHistogramData(HistogramType.DB_GET).getCount() > 0);
        equal(true, cache.getUsage() > 0);
      }
      var written = Files.list(Path.of(path)).map(Path::toString)
          .filter(file -> file.contains("OPTIONS-")).sorted().toList();
      String text = Files.readString(Path.of(written.get(written.size() - 1)));
      for (String line : List.of("write_buffer_size=1048576", "block_size=8192",
          "compaction_style=kCompactionStyleUniversal", "compression=kLZ4Compression")) {
        equal(true, text.contains(line));
      }
    }
    try (var options = new Options().setCreateIfMissing(true)) {
      options.setTableFormatConfig(new BlockBasedTableConfig().setReadAmpBytesPerBit(2));
      var refused = fails(() -> RocksDB.open(options, path));
      equal(Status.Code.NotSupported, refused.getStatus().getCode());
      equal(true, refused.getMessage().contains("read_amp_bytes_per_bit"));
    }
    for (var mode : RateLimiterMode.values()) {
      try (var limiter = new RateLimiter(1 << 20, 100_000, 10, mode);
          var options = new Options().setCreateIfMissing(true).setRateLimiter(limiter)) {
        RocksDB.open(options, path).close();
      }
    }
    try (var limiter = new RateLimiter(1 << 20); var unbuilt = new CompressionOptions();
        var options = new Options().setCreateIfMissing(true).setRateLimiter(limiter)) {
      RocksDB.open(options, path).close();
      options.setCompressionOptions(unbuilt);
      var refused = fails(() -> RocksDB.open(options, path));
      equal("Not implemented: Options.setCompressionOptions", refused.getMessage());
    }
    try (var given = new ComparatorOptions();
        var comparator = new AbstractComparator(given) {
          public String name() {
            return "length";
          }
          public int compare(ByteBuffer one, ByteBuffer other) {
            return one.remaining() - other.remaining();
          }
        };
        var options = new Options().setCreateIfMissing(true).setComparator(comparator)) {
      var refused = fails(() -> RocksDB.open(options, path));
      equal("Not implemented: Options.setComparatorHandle", refused.getMessage());
    }
  }

  static void errors(String path) throws Exception {
    try (var options = new Options()) {
      var missing = fails(() -> RocksDB.open(options, path + "/none"));
      equal(Status.Code.InvalidArgument, missing.getStatus().getCode());
      options.setCreateIfMissing(true);
      var db = RocksDB.open(options, path);
      var second = fails(() -> RocksDB.open(options, path));
      equal(Status.Code.IOError, second.getStatus().getCode());
      equal(Status.Code.NotFound, fails(() -> db.getProperty("rocksdb.none")).getStatus().getCode());
      var absent = fails(() -> db.startTrace(new TraceOptions(), new AbstractTraceWriter() {
        public void write(Slice slice) {}
        public void closeWriter() {}
        public long getFileSize() {
          return 0;
        }
      }));
      equal("Not implemented: AbstractTraceWriter.createNewTraceWriter", absent.getMessage());
      // What is still open goes with its database.
      var iterator = db.newIterator();
      iterator.seekToFirst();
      db.close();
      RocksDB.open(options, path).close();
      RocksDB.destroyDB(path, options);
      equal(false, Files.exists(Path.of(path, "CURRENT")));
    }
  }

  static void checkpoints_have_no_empty_log(String path) throws Exception {
    try (var options = new Options().setCreateIfMissing(true)) {
      try (var db = RocksDB.open(options, path); var checkpoint = Checkpoint.create(db)) {
        db.put(bytes("river"), bytes("white"));
        checkpoint.createCheckpoint(path + "-checkpoint");
      }
      try (var files = Files.list(Path.of(path + "-checkpoint"))) {
        for (Path file : files.toList()) {
          equal(true, Files.size(file) > 0);
        }
      }
      try (var db = RocksDB.open(options, path + "-checkpoint")) {
        equal("white", db.get(bytes("river")));
      }
    }
  }

  public static void main(String[] arguments) throws Exception {
    RocksDB.loadLibrary();
    if (!Files.readString(Path.of("/proc/self/maps")).contains(arguments[0])) {
      throw new AssertionError("another library was loaded");
    }
    interface Test {
      void run(String path) throws Exception;
    }
    Map<String, Test> tests = Map.of("reads_and_writes", JniTest::reads_and_writes,
        "iterators_and_snapshots", JniTest::iterators_and_snapshots,
        "column_families", JniTest::column_families,
        "checkpoints_have_no_empty_log", JniTest::checkpoints_have_no_empty_log,
        "options_are_honoured", JniTest::options_are_honoured, "errors", JniTest::errors);
    Path scratch = Files.createTempDirectory("jni-test");
    for (var test : tests.entrySet()) {
      test.getValue().run(scratch.resolve(test.getKey()).toString());
      System.out.println(test.getKey() + ": ok");
    }
  }
}
