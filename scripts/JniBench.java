import java.util.Arrays;
import java.util.concurrent.atomic.AtomicReference;
import org.rocksdb.*;

/**
 * What scripts/jni-bench runs: calls through RocksDB's Java classes. Arguments are a folder for the
 * database and how many entries it gets. Prints a line for each operation: its name, a tab, and
 * nanoseconds for one.
 */
public class JniBench {
  static final int THREADS = 16;
  static final int VALUE = 100;

  interface Work {
    void run(int at) throws RocksDBException;
  }

  /** A key of 16 bytes; neighbours in order are not neighbours as keys. */
  static byte[] key(int at) {
    return String.format("%016x", at * 0x9E3779B97F4A7C15L).getBytes();
  }

  static void time(String name, int count, Work work) throws RocksDBException {
    long begin = System.nanoTime();
    for (int at = 0; at < count; at++) {
      work.run(at);
    }
    System.out.printf("%s\t%.1f%n", name, (System.nanoTime() - begin) / (double) count);
  }

  /** From 16 threads, each of which has its own part of the keys. */
  static void together(RocksDB db, WriteOptions writes, byte[][] keys, byte[] value)
      throws Exception {
    var failure = new AtomicReference<Exception>();
    var threads = new Thread[THREADS];
    int part = keys.length / THREADS;
    long begin = System.nanoTime();
    for (int thread = 0; thread < THREADS; thread++) {
      int first = thread * part;
      threads[thread] = new Thread(() -> {
        try {
          for (int at = first; at < first + part; at++) {
            db.put(writes, keys[at], value);
          }
        } catch (RocksDBException e) {
          failure.set(e);
        }
      });
      threads[thread].start();
    }
    for (var thread : threads) {
      thread.join();
    }
    if (failure.get() != null) {
      throw failure.get();
    }
    double each = (System.nanoTime() - begin) / (double) (part * THREADS);
    System.out.printf("put, 16 threads\t%.1f%n", each);
  }

  static void found(int expected, int length) {
    if (expected != length) {
      throw new AssertionError("found " + length + ", expected " + expected);
    }
  }

  static void step(String name, RocksDB db, ReadOptions reads, int count)
      throws RocksDBException {
    try (var iterator = db.newIterator(reads)) {
      iterator.seekToFirst();
      byte[] key = new byte[16];
      time(name, count, at -> {
        found(16, iterator.key(key));
        iterator.next();
      });
      found(0, iterator.isValid() ? 1 : 0);
    }
  }

  public static void main(String[] arguments) throws Exception {
    RocksDB.loadLibrary();
    int count = Integer.parseInt(arguments[1]);
    byte[][] keys = new byte[count][];
    Arrays.setAll(keys, JniBench::key);
    byte[] value = new byte[VALUE], place = new byte[VALUE];
    Arrays.fill(value, (byte) 'v');
    var table = new BlockBasedTableConfig().setBlockCache(new LRUCache(1L << 30));
    try (var options = new Options().setCreateIfMissing(true)
            .setCompressionType(CompressionType.NO_COMPRESSION).setWriteBufferSize(1L << 30)
            .setTableFormatConfig(table);
        var db = RocksDB.open(options, arguments[0]);
        var writes = new WriteOptions();
        var reads = new ReadOptions();
        var compaction = new CompactRangeOptions()) {
      time("put", count, at -> db.put(writes, keys[at], value));
      time("get from the memtable", count, at -> found(VALUE, db.get(reads, keys[at], place)));
      step("iterator step, memtable", db, reads, count);
      db.compactRange(db.getDefaultColumnFamily(), null, null, compaction);
      for (byte[] key : keys) {
        found(VALUE, db.get(reads, key, place));
      }
      time("get from a cached table", count, at -> found(VALUE, db.get(reads, keys[at], place)));
      step("iterator step, cached table", db, reads, count);
      together(db, writes, keys, value);
    }
  }
}
