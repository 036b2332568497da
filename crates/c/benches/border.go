// What calls cost from Go, through grocksdb: the workloads of border.c. Run by scripts/c-bench --go.
//
//	border DIRECTORY [ENTRIES]
package main

import (
	"fmt"
	"log"
	"math/bits"
	"os"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/linxGnu/grocksdb"
)

const (
	keyLen   = 16
	valueLen = 100
	threads  = 16
)

var (
	entries = 300000
	options = grocksdb.NewDefaultOptions()
	writes  = grocksdb.NewDefaultWriteOptions()
	reads   = grocksdb.NewDefaultReadOptions()
)

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func expect(holds bool, what string) {
	if !holds {
		log.Fatal(what)
	}
}

// keyOf writes the key of an entry: all entries have one, in an order that looks random.
func keyOf(entry int, key []byte) {
	mixed := uint64(entry) * 0x9E3779B97F4A7C15
	for at := range key {
		mixed = bits.RotateLeft64(mixed, 4)
		key[at] = "0123456789abcdef"[mixed&15]
	}
}

func timed(name string, work func()) {
	began := time.Now()
	work()
	fmt.Printf("%s\t%.1f\n", name, float64(time.Since(began).Nanoseconds())/float64(entries))
}

func openAnew(dir string) *grocksdb.DB {
	check(grocksdb.DestroyDb(dir, options))
	db, err := grocksdb.OpenDb(options, dir)
	check(err)
	return db
}

func putRange(db *grocksdb.DB, from, to int) {
	key, value := make([]byte, keyLen), make([]byte, valueLen)
	for at := range value {
		value[at] = 'v'
	}
	for entry := from; entry < to; entry++ {
		keyOf(entry, key)
		check(db.Put(writes, key, value))
	}
}

// putAll puts all entries from 16 goroutines. Each may have a thread of its own, as in C.
func putAll(db *grocksdb.DB) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(threads))
	var group sync.WaitGroup
	for at := range threads {
		group.Add(1)
		go func() {
			defer group.Done()
			putRange(db, entries*at/threads, entries*(at+1)/threads)
		}()
	}
	group.Wait()
}

func getAll(db *grocksdb.DB) {
	key := make([]byte, keyLen)
	for entry := range entries {
		keyOf(entry, key)
		value, err := db.Get(reads, key)
		check(err)
		expect(value.Size() == valueLen, "a value is missing")
		value.Free()
	}
}

func getAllPinned(db *grocksdb.DB) {
	key := make([]byte, keyLen)
	for entry := range entries {
		keyOf(entry, key)
		value, err := db.GetPinned(reads, key)
		check(err)
		expect(len(value.Data()) == valueLen, "a value is missing")
		value.Destroy()
	}
}

func scan(db *grocksdb.DB) {
	iter := db.NewIterator(reads)
	defer iter.Close()
	steps, sum := 0, 0
	for iter.SeekToFirst(); iter.Valid(); iter.Next() {
		sum += iter.Key().Size() + iter.Value().Size()
		steps++
	}
	check(iter.Err())
	expect(steps == entries && sum == entries*(keyLen+valueLen), "entries are missing")
}

func main() {
	dir := os.Args[1]
	if len(os.Args) > 2 {
		given, err := strconv.Atoi(os.Args[2])
		check(err)
		entries = given
	}
	table := grocksdb.NewDefaultBlockBasedTableOptions()
	table.SetBlockCache(grocksdb.NewLRUCache(1 << 30))
	options.SetBlockBasedTableFactory(table)
	options.SetCreateIfMissing(true)
	options.SetCompression(grocksdb.NoCompression)

	db := openAnew(dir)
	timed("put", func() { putRange(db, 0, entries) })
	timed("get from the memtable", func() { getAll(db) })
	timed("iterator step, memtable", func() { scan(db) })
	check(db.Flush(grocksdb.NewDefaultFlushOptions()))
	db.CompactRange(grocksdb.Range{})
	getAll(db) // fills the cache
	timed("get from a cached table", func() { getAll(db) })
	timed("get_pinned from a cached table", func() { getAllPinned(db) })
	timed("iterator step, cached table", func() { scan(db) })
	db.Close()
	db = openAnew(dir)
	timed("put, 16 threads", func() { putAll(db) })
	db.Close()
}
