import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.rocksdb.ColumnFamilyDescriptor;
import org.rocksdb.ColumnFamilyHandle;
import org.rocksdb.CompactRangeOptions;
import org.rocksdb.DBOptions;
import org.rocksdb.FlushOptions;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.RocksIterator;
import org.rocksdb.Transaction;
import org.rocksdb.TransactionDB;
import org.rocksdb.TransactionDBOptions;
import org.rocksdb.TxnDBWritePolicy;
import org.rocksdb.WriteOptions;

/**
 * The newest RocksDB's TransactionDB for the interoperation tests: needs the jar of Maven's
 * org.rocksdb:rocksdbjni on the class path.
 *
 * <pre>
 * java -cp JAR InteropTransactions.java DB POLICY STEPS
 * </pre>
 *
 * DB is opened, or made, with the families "default" and "other" and with the write policy, for
 * example WRITE_PREPARED. Each line of the file STEPS is one step. T is the name of a
 * transaction, F a family, K a key and V a value, all of them without spaces:
 *
 * <pre>
 * put F K V, delete F K        outside of transactions
 * begin T                      and gives it its name
 * T put F K V, T delete F K    in it
 * prepare T, commit T, rollback T
 * flush F, compact F           compact rewrites the last level, too
 * reopen                       closes the database and opens it again
 * show                         prints the names of the prepared transactions, then the content
 * </pre>
 *
 * Transactions that an opening finds prepared are known by their names. After the last step the
 * process ends without closing the database, as if it were killed. The content is JSON: column
 * family -> key -> value, both in hexadecimal.
 */
public final class InteropTransactions {
    private static final HexFormat HEX = HexFormat.of();
    private static final List<String> FAMILIES = List.of("default", "other");

    private final String path;
    private final TxnDBWritePolicy policy;
    private final WriteOptions write = new WriteOptions();
    private final Map<String, Transaction> transactions = new TreeMap<>();
    private final List<ColumnFamilyHandle> handles = new ArrayList<>();
    private TransactionDB db;

    private InteropTransactions(String path, String policy) throws RocksDBException {
        this.path = path;
        this.policy = TxnDBWritePolicy.valueOf(policy);
        open();
    }

    private void open() throws RocksDBException {
        DBOptions options = new DBOptions();
        options.setCreateIfMissing(true).setCreateMissingColumnFamilies(true);
        List<ColumnFamilyDescriptor> families = new ArrayList<>();
        for (String name : FAMILIES) {
            families.add(new ColumnFamilyDescriptor(name.getBytes()));
        }
        TransactionDBOptions transactional = new TransactionDBOptions().setWritePolicy(policy);
        db = TransactionDB.open(options, transactional, path, families, handles);
        for (Transaction found : db.getAllPreparedTransactions()) {
            transactions.put(found.getName(), found);
        }
    }

    private void reopen() throws RocksDBException {
        transactions.values().forEach(Transaction::close);
        transactions.clear();
        handles.forEach(ColumnFamilyHandle::close);
        handles.clear();
        // A flush that has ended may not have released its snapshot yet.
        db.cancelAllBackgroundWork(true);
        db.closeE();
        open();
    }

    private ColumnFamilyHandle family(String name) {
        return handles.get(FAMILIES.indexOf(name));
    }

    private void begin(String name) throws RocksDBException {
        Transaction begun = db.beginTransaction(write);
        begun.setName(name);
        transactions.put(name, begun);
    }

    /** Does a step; its first words name what is done, or the transaction that does it. */
    private void step(String... words) throws RocksDBException {
        switch (words[0]) {
            case "put" -> db.put(family(words[1]), words[2].getBytes(), words[3].getBytes());
            case "delete" -> db.delete(family(words[1]), words[2].getBytes());
            case "begin" -> begin(words[1]);
            case "prepare" -> transactions.get(words[1]).prepare();
            case "commit" -> transactions.remove(words[1]).commit();
            case "rollback" -> transactions.remove(words[1]).rollback();
            case "flush" -> {
                try (FlushOptions flush = new FlushOptions().setWaitForFlush(true)) {
                    db.flush(flush, family(words[1]));
                }
            }
            case "compact" -> compact(family(words[1]));
            case "reopen" -> reopen();
            case "show" -> show();
            default -> stepOf(transactions.get(words[0]), words);
        }
    }

    private void stepOf(Transaction transaction, String... words) throws RocksDBException {
        ColumnFamilyHandle family = family(words[2]);
        switch (words[1]) {
            case "put" -> transaction.put(family, words[3].getBytes(), words[4].getBytes());
            case "delete" -> transaction.delete(family, words[3].getBytes());
            default -> throw new IllegalArgumentException(String.join(" ", words));
        }
    }

    private void compact(ColumnFamilyHandle family) throws RocksDBException {
        try (CompactRangeOptions all = new CompactRangeOptions()) {
            all.setBottommostLevelCompaction(
                    CompactRangeOptions.BottommostLevelCompaction.kForce);
            db.compactRange(family, null, null, all);
        }
    }

    private void show() throws RocksDBException {
        List<String> prepared = new ArrayList<>();
        for (Transaction one : db.getAllPreparedTransactions()) {
            prepared.add(one.getName());
        }
        prepared.sort(null);
        System.out.println(String.join(" ", prepared));
        List<String> families = new ArrayList<>();
        for (String name : FAMILIES) {
            families.add('"' + name + "\":{" + String.join(",", pairs(family(name))) + '}');
        }
        System.out.println('{' + String.join(",", families) + '}');
    }

    /** Each pair of the family in JSON; point reads must agree with the iterator. */
    private List<String> pairs(ColumnFamilyHandle family) throws RocksDBException {
        List<String> pairs = new ArrayList<>();
        try (RocksIterator it = db.newIterator(family)) {
            for (it.seekToFirst(); it.isValid(); it.next()) {
                if (!Arrays.equals(it.value(), db.get(family, it.key()))) {
                    throw new IllegalStateException("two ways to read differ");
                }
                String key = HEX.formatHex(it.key());
                pairs.add('"' + key + "\":\"" + HEX.formatHex(it.value()) + '"');
            }
            it.status();
        }
        return pairs;
    }

    public static void main(String[] arguments) throws Exception {
        RocksDB.loadLibrary();
        InteropTransactions open = new InteropTransactions(arguments[0], arguments[1]);
        for (String line : Files.readAllLines(Path.of(arguments[2]))) {
            open.step(line.split(" "));
        }
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }
}
