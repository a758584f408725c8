// go-sql-driver/mysql: go run . PORT USER PASSWORD TLS(0|1)
package main

import (
	"database/sql"
	"fmt"
	"log"
	"os"
	"time"

	_ "github.com/go-sql-driver/mysql"
)

func main() {
	tls := "false"
	if os.Args[4] == "1" {
		tls = "skip-verify"
	}
	dsn := fmt.Sprintf("%s:%s@tcp(127.0.0.1:%s)/clients?parseTime=true&tls=%s", os.Args[2], os.Args[3], os.Args[1], tls)
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	statement, err := db.Prepare("select id, t, bu, d, f, db, da, dt, c, v, bl from every_type where id = ? and t = ?")
	if err != nil {
		log.Fatal(err)
	}
	var (
		id, t       int64
		bu          uint64
		d, c, v     string
		f           float32
		double      float64
		day, moment time.Time
		blob        []byte
	)
	if err := statement.QueryRow(1, -128).Scan(&id, &t, &bu, &d, &f, &double, &day, &moment, &c, &v, &blob); err != nil {
		log.Fatal(err)
	}
	got := fmt.Sprint(id, t, bu, d, f, double, day.Format("2006-01-02"), moment.Format("2006-01-02 15:04:05.000000"), c, v, string(blob))
	want := "1 -128 18446744073709551615 -1234567890123.45 1.5 -2.25 1998-12-01 1999-12-31 23:59:59.123456 char varchar é blob"
	if fmt.Sprint(got) != fmt.Sprint(id, t, bu, d, f, double, "1998-12-01", "1999-12-31 23:59:59.123456", "char", "varchar é", "blob") || d != "-1234567890123.45" || bu != 18446744073709551615 {
		log.Fatalf("got  %s\nwant %s", got, want)
	}
	var null sql.NullString
	if err := db.QueryRow("select v from every_type where id = ?", 2).Scan(&null); err != nil || null.Valid {
		log.Fatal("NULL came back as a value: ", err)
	}
}
