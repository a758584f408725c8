import java.math.BigDecimal;
import java.math.BigInteger;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;

/** mysql-connector-j: java Client PORT USER PASSWORD TLS(0|1) */
public class Client {
    static void same(Object got, Object want) {
        if (!want.equals(got)) throw new AssertionError("got " + got + ", want " + want);
    }

    public static void main(String[] a) throws Exception {
        String tls = a[3].equals("1") ? "sslMode=REQUIRED" : "sslMode=DISABLED&allowPublicKeyRetrieval=true";
        for (String mode : new String[] {"useServerPrepStmts=true", "useServerPrepStmts=false"}) {
            String url = "jdbc:mysql://127.0.0.1:" + a[0] + "/clients?" + tls + "&" + mode;
            try (Connection c = DriverManager.getConnection(url, a[1], a[2]);
                 PreparedStatement s = c.prepareStatement("select * from every_type where id >= ? order by id")) {
                s.setInt(1, 1);
                try (ResultSet r = s.executeQuery()) {
                    ResultSetMetaData m = r.getMetaData();
                    same(m.getColumnTypeName(12), "DECIMAL");
                    same(m.getScale(12), 2);
                    same(m.getPrecision(12), 15);
                    same(m.getTableName(1), "every_type");
                    r.next();
                    same(r.getInt("t"), -128);
                    same(r.getObject("bu"), new BigInteger("18446744073709551615"));
                    same(r.getBigDecimal("d"), new BigDecimal("-1234567890123.45"));
                    same(r.getDate("da").toString(), "1998-12-01");
                    same(r.getTimestamp("dt").toString(), "1999-12-31 23:59:59.123456");
                    same(r.getString("v"), "varchar \u00e9");
                    same(new String(r.getBytes("bl")), "blob");
                    r.next();
                    for (int i = 2; i <= m.getColumnCount(); i++) same(r.getObject(i) == null, true);
                }
            }
        }
    }
}
