-- Rows of a KiB with five secondary indexes, as sysbench's own tables have one: one statement and one commit a time.
--
--   sysbench tests/sysbench/wide_rows.lua --change=insert --mysql-socket=SOCKET --mysql-user=root --mysql-db=sbtest prepare

sysbench.cmdline.options = {
   tables = {"Number of tables", 4},
   table_size = {"Rows of a table", 10000},
   change = {"insert, update_keys or update_text", "insert"},
}

local TEXT = string.rep("###########-", 84)
local NAME = "@@@@@@@@@@@@@@@@@@@@"

local function values()
   return string.format("%d, %d, '%s', '2024-%02d-%02d 10:00:00', %d.%02d, '%s'", sysbench.rand.default(1, 1000000),
      sysbench.rand.default(1, 1000), sysbench.rand.string(NAME), sysbench.rand.default(1, 12), sysbench.rand.default(1, 28),
      sysbench.rand.default(1, 99999), sysbench.rand.default(0, 99), sysbench.rand.string(TEXT))
end

local COLUMNS = "(a, b, c, d, e, body)"

function prepare()
   local connection = sysbench.sql.driver():connect()
   for number = 1, sysbench.opt.tables do
      connection:query(string.format([[
         CREATE TABLE wide%d (id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, a INT NOT NULL, b INT NOT NULL, c VARCHAR(40) NOT NULL,
         d DATETIME NOT NULL, e DECIMAL(12,2) NOT NULL, body TEXT NOT NULL, KEY (a), KEY (b, d), KEY (c), KEY (d), KEY (e))]], number))
      for _ = 1, sysbench.opt.table_size / 20 do
         local rows = {}
         for row = 1, 20 do rows[row] = "(" .. values() .. ")" end
         connection:query(string.format("INSERT INTO wide%d %s VALUES %s", number, COLUMNS, table.concat(rows, ", ")))
      end
   end
end

function cleanup()
   local connection = sysbench.sql.driver():connect()
   for number = 1, sysbench.opt.tables do
      connection:query(string.format("DROP TABLE IF EXISTS wide%d", number))
   end
end

function thread_init()
   connection = sysbench.sql.driver():connect()
end

function thread_done()
   connection:disconnect()
end

local CHANGES = {
   insert = function(name)
      return string.format("INSERT INTO %s %s VALUES (%s)", name, COLUMNS, values())
   end,
   update_keys = function(name)
      return string.format("UPDATE %s SET a = %d, d = NOW(), e = e + 1 WHERE id = %d", name, sysbench.rand.default(1, 1000000),
         sysbench.rand.default(1, sysbench.opt.table_size))
   end,
   update_text = function(name)
      return string.format("UPDATE %s SET body = '%s' WHERE id = %d", name, sysbench.rand.string(TEXT),
         sysbench.rand.default(1, sysbench.opt.table_size))
   end,
}

function event()
   connection:query(CHANGES[sysbench.opt.change]("wide" .. sysbench.rand.uniform(1, sysbench.opt.tables)))
end
