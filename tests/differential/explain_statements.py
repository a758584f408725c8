"""Equal tables for the comparison of EXPLAIN, and the statements that are explained."""

import random

DATABASE = "explained"

TABLES = [
    "CREATE TABLE customers (id INT PRIMARY KEY, region INT, rank_no INT NOT NULL, code VARCHAR(20), born DATE, note TEXT, "
    "UNIQUE KEY u_code (code), KEY i_region (region), KEY i_region_rank (region, rank_no))",
    "CREATE TABLE orders (id INT PRIMARY KEY, customer INT, placed INT, state INT, comment VARCHAR(30), "
    "KEY i_customer (customer), KEY i_placed_state (placed, state))",
    "CREATE TABLE lines_of (order_no INT, line INT, product INT NOT NULL, amount DECIMAL(10,2), shipped DATETIME, "
    "PRIMARY KEY (order_no, line), KEY i_product (product), KEY i_shipped (shipped DESC))",
    "CREATE TABLE products (id BIGINT UNSIGNED PRIMARY KEY, name CHAR(12) NOT NULL, kind ENUM('a','b','c') NOT NULL, price DOUBLE, "
    "tags VARCHAR(100), UNIQUE KEY u_name (name), KEY i_kind (kind), KEY i_tags (tags(10)))",
    "CREATE TABLE small (id INT PRIMARY KEY, v INT, w INT NOT NULL, KEY i_v (v))",
    "CREATE TABLE bare (a INT, b INT, c VARCHAR(10))",
    "CREATE TABLE nothing (a INT PRIMARY KEY, b INT, KEY i_b (b))",
    "CREATE VIEW rich AS SELECT id, region, code FROM customers WHERE rank_no > 50",
    "CREATE VIEW totals AS SELECT order_no, SUM(amount) AS total, COUNT(*) AS number FROM lines_of GROUP BY order_no",
]


def rows():
    """The rows of each table, the same at each run."""
    draw = random.Random(7)
    yield "customers", [(n, n % 11, draw.randrange(100), f"c{n:05}", f"19{50 + n % 50}-0{1 + n % 9}-1{n % 10}", "x" * (n % 40))
                        for n in range(1, 2001)]
    yield "orders", [(n, draw.randrange(1, 2001) if n % 50 else None, n % 365, n % 4, f"z{n % 90}") for n in range(1, 5001)]
    yield "lines_of", [(n, line, draw.randrange(1, 201), f"{draw.randrange(1, 99999) / 100:.2f}", f"2020-0{1 + n % 9}-1{line} 10:00:00")
                       for n in range(1, 2001) for line in range(1, 4)]
    yield "products", [(n, f"p{n:04}", "abc"[n % 3], n * 1.5, f"tag {n % 20}") for n in range(1, 201)]
    yield "small", [(n, n % 5, n * 2) for n in range(1, 13)]
    yield "bare", [(n % 40, n, f"b{n % 7}") for n in range(1, 201)]


SELECTS = """
SELECT 1
SELECT 1 + 1 FROM DUAL
SELECT * FROM bare
SELECT * FROM customers
SELECT COUNT(*) FROM bare
SELECT COUNT(*) FROM orders
SELECT * FROM customers WHERE id = 5
SELECT * FROM customers WHERE id = 5 AND region = 5
SELECT * FROM customers WHERE id = 99999
SELECT * FROM nothing WHERE a = 3
SELECT * FROM customers WHERE code = 'c00007'
SELECT id FROM customers WHERE code = 'c00007'
SELECT * FROM products WHERE name = 'p0010'
SELECT * FROM lines_of WHERE order_no = 3 AND line = 2
SELECT * FROM lines_of WHERE order_no = 3
SELECT order_no, line FROM lines_of WHERE order_no = 3
SELECT * FROM lines_of WHERE order_no = 3 AND amount > 5
SELECT * FROM lines_of WHERE order_no = 3 AND line > 1
SELECT * FROM lines_of WHERE order_no BETWEEN 3 AND 9
SELECT * FROM lines_of WHERE line = 2
SELECT * FROM customers WHERE id > 1990
SELECT * FROM customers WHERE id < 10 AND region = 3
SELECT * FROM customers WHERE id IN (1, 5, 9)
SELECT id FROM customers WHERE id BETWEEN 5 AND 15
SELECT * FROM customers WHERE id > 5000
SELECT * FROM orders WHERE customer = 7
SELECT customer FROM orders WHERE customer = 7
SELECT id, customer FROM orders WHERE customer = 7
SELECT * FROM orders WHERE customer = 7 AND state = 1
SELECT * FROM orders WHERE customer IS NULL
SELECT * FROM orders WHERE customer = 7 OR customer IS NULL
SELECT * FROM orders WHERE customer IN (7, 8, 9)
SELECT * FROM orders WHERE customer BETWEEN 7 AND 9
SELECT * FROM orders WHERE customer > 1998
SELECT * FROM orders WHERE placed = 5 AND state = 1
SELECT * FROM orders WHERE placed = 5 AND state > 1
SELECT * FROM orders WHERE placed = 5 AND state + 1 > 2
SELECT placed, state FROM orders WHERE placed = 5
SELECT placed, state FROM orders WHERE placed > 360
SELECT placed, state FROM orders WHERE state = 2
SELECT state FROM orders WHERE placed BETWEEN 5 AND 7 AND state = 2
SELECT * FROM orders WHERE state = 1
SELECT * FROM orders WHERE comment = 'z5'
SELECT * FROM orders WHERE comment LIKE 'z5%'
SELECT * FROM customers WHERE code LIKE 'c0000%'
SELECT * FROM customers WHERE code LIKE '%7'
SELECT code FROM customers WHERE code > 'c01990'
SELECT * FROM products WHERE kind = 'a'
SELECT * FROM products WHERE kind = 'a' AND price > 10
SELECT * FROM products WHERE tags = 'tag 5'
SELECT * FROM products WHERE tags LIKE 'tag 1%'
SELECT * FROM products WHERE id = 3
SELECT * FROM products WHERE price > 100
SELECT * FROM lines_of WHERE shipped > '2020-09-12 00:00:00'
SELECT * FROM lines_of WHERE shipped = '2020-09-12 10:00:00'
SELECT * FROM lines_of WHERE product = 17
SELECT product FROM lines_of WHERE product = 17
SELECT * FROM lines_of WHERE product = 17 AND order_no = 5
SELECT * FROM lines_of WHERE product IN (17, 18) AND amount > 100
SELECT * FROM customers WHERE region = 3 AND rank_no = 5
SELECT * FROM customers WHERE region = 3 AND rank_no > 95
SELECT region, rank_no FROM customers WHERE region = 3
SELECT * FROM customers WHERE region = 3 OR id = 7
SELECT * FROM customers WHERE code = 'c00003' OR id = 7
SELECT * FROM orders WHERE customer = 5 OR placed = 7
SELECT * FROM orders WHERE customer = 5 AND placed = 7
SELECT * FROM small WHERE v = 3
SELECT * FROM small WHERE v = 3 AND w > 5
SELECT v FROM small
SELECT v FROM small WHERE v > 2
SELECT id FROM small
SELECT id FROM small ORDER BY id
SELECT id FROM small ORDER BY id DESC
SELECT * FROM bare WHERE a = 3
SELECT * FROM bare WHERE a = 3 ORDER BY b
SELECT * FROM bare ORDER BY a
SELECT * FROM bare ORDER BY a LIMIT 3
SELECT * FROM customers WHERE 1 = 0
SELECT * FROM customers WHERE id = 1 AND id = 2
SELECT * FROM customers LIMIT 0
SELECT * FROM customers HAVING 1 = 0
SELECT COUNT(*) FROM customers WHERE 1 = 0
SELECT * FROM small WHERE id IS NULL
SELECT * FROM customers WHERE rank_no IS NULL
SELECT * FROM customers ORDER BY id
SELECT * FROM customers ORDER BY id LIMIT 5
SELECT * FROM customers ORDER BY id DESC LIMIT 5
SELECT * FROM orders ORDER BY customer LIMIT 5
SELECT * FROM orders ORDER BY placed, state LIMIT 5
SELECT placed, state FROM orders ORDER BY placed, state
SELECT placed, state FROM orders ORDER BY placed DESC, state DESC
SELECT id FROM orders ORDER BY customer
SELECT * FROM orders WHERE customer = 7 ORDER BY id
SELECT * FROM orders WHERE customer = 7 ORDER BY comment
SELECT * FROM orders WHERE placed = 3 ORDER BY state
SELECT * FROM orders ORDER BY comment
SELECT * FROM orders ORDER BY comment LIMIT 10
SELECT code FROM customers ORDER BY code
SELECT region, COUNT(*) FROM customers GROUP BY region
SELECT region, COUNT(*) FROM customers GROUP BY region ORDER BY region DESC
SELECT region, COUNT(*) FROM customers GROUP BY region ORDER BY COUNT(*)
SELECT region, COUNT(*) FROM customers GROUP BY region HAVING COUNT(*) > 3
SELECT region, MAX(rank_no) FROM customers GROUP BY region
SELECT region, MIN(rank_no) FROM customers GROUP BY region
SELECT rank_no, COUNT(*) FROM customers GROUP BY rank_no
SELECT rank_no, COUNT(*) FROM customers GROUP BY rank_no ORDER BY 2
SELECT a, COUNT(*) FROM bare GROUP BY a
SELECT a, SUM(b) FROM bare GROUP BY a ORDER BY 2 DESC
SELECT a, SUM(b) FROM bare WHERE b > 50 GROUP BY a
SELECT a + 1, COUNT(*) FROM bare GROUP BY a + 1
SELECT DISTINCT region FROM customers
SELECT DISTINCT a FROM bare
SELECT DISTINCT a, b FROM bare ORDER BY b
SELECT DISTINCT placed, state FROM orders
SELECT COUNT(DISTINCT region) FROM customers
SELECT COUNT(DISTINCT a) FROM bare
SELECT MIN(id) FROM customers
SELECT MAX(id) FROM customers
SELECT MIN(region), MAX(region) FROM customers
SELECT MAX(state) FROM orders WHERE placed = 3
SELECT MIN(placed) FROM orders WHERE placed > 100
SELECT MAX(comment) FROM orders
SELECT SUM(amount) FROM lines_of WHERE order_no = 3
SELECT AVG(b) FROM bare
SELECT * FROM customers c JOIN orders o ON o.customer = c.id WHERE c.id = 5
SELECT * FROM customers c JOIN orders o ON o.customer = c.id WHERE c.region = 3 AND c.rank_no = 5
SELECT * FROM customers c, orders o WHERE o.customer = c.id AND o.id = 77
SELECT c.code, o.id FROM customers c JOIN orders o ON o.customer = c.id WHERE o.placed = 5
SELECT c.code, o.id FROM customers c JOIN orders o ON o.customer = c.id WHERE o.id < 10
SELECT * FROM orders o JOIN lines_of l ON l.order_no = o.id WHERE o.id = 9
SELECT * FROM orders o JOIN lines_of l ON l.order_no = o.id WHERE o.customer = 9
SELECT * FROM orders o JOIN lines_of l ON l.order_no = o.id AND l.line = 1 WHERE o.customer = 9
SELECT * FROM lines_of l JOIN products p ON p.id = l.product WHERE l.order_no = 4
SELECT * FROM lines_of l JOIN products p ON p.id = l.product WHERE p.name = 'p0020'
SELECT * FROM small s JOIN small t ON s.id = t.id
SELECT * FROM small s JOIN small t ON s.v = t.v
SELECT * FROM small s JOIN small t ON s.id = t.v WHERE s.w > 4
SELECT * FROM small s JOIN bare b ON s.id = b.a
SELECT * FROM bare x JOIN bare y ON x.a = y.b
SELECT * FROM bare x JOIN bare y ON x.a < y.b
SELECT * FROM bare x, small y
SELECT * FROM small s LEFT JOIN bare b ON s.id = b.a
SELECT * FROM customers c LEFT JOIN orders o ON o.customer = c.id WHERE c.id = 5
SELECT * FROM customers c LEFT JOIN orders o ON o.customer = c.id WHERE c.id < 5
SELECT * FROM customers c LEFT JOIN orders o ON o.customer = c.id AND o.state = 1 WHERE c.id < 5
SELECT * FROM customers c LEFT JOIN orders o ON o.customer = c.id WHERE c.id < 5 AND o.id IS NULL
SELECT * FROM orders o LEFT JOIN customers c ON c.id = o.customer WHERE o.id < 20
SELECT * FROM orders o RIGHT JOIN customers c ON c.id = o.customer WHERE c.id < 5
SELECT * FROM customers c JOIN orders o ON o.customer = c.id JOIN lines_of l ON l.order_no = o.id WHERE c.id = 5
SELECT * FROM customers c JOIN orders o ON o.customer = c.id JOIN lines_of l ON l.order_no = o.id JOIN products p ON p.id = l.product WHERE c.id = 5
SELECT c.region, COUNT(*) FROM customers c JOIN orders o ON o.customer = c.id WHERE o.placed = 5 GROUP BY c.region
SELECT c.region, COUNT(*) FROM customers c JOIN orders o ON o.customer = c.id WHERE o.placed = 5 GROUP BY c.region ORDER BY 2
SELECT o.id FROM customers c JOIN orders o ON o.customer = c.id WHERE c.id < 5 ORDER BY o.comment
SELECT o.id FROM customers c JOIN orders o ON o.customer = c.id WHERE c.id < 5 ORDER BY c.id
SELECT DISTINCT c.region FROM customers c JOIN orders o ON o.customer = c.id WHERE o.placed = 5
SELECT STRAIGHT_JOIN * FROM small s JOIN customers c ON c.id = s.id
SELECT STRAIGHT_JOIN * FROM customers c JOIN small s ON c.id = s.id WHERE c.id < 4
SELECT * FROM customers c FORCE INDEX (i_region) WHERE c.region > 3
SELECT * FROM customers c IGNORE INDEX (i_region) WHERE c.region = 3
SELECT * FROM customers c USE INDEX (i_region_rank) WHERE c.region = 3
SELECT * FROM customers c USE INDEX () WHERE c.region = 3
SELECT * FROM customers WHERE id IN (SELECT customer FROM orders WHERE id < 5)
SELECT * FROM customers WHERE id IN (SELECT customer FROM orders WHERE placed = 5)
SELECT * FROM small WHERE id IN (SELECT v FROM small)
SELECT * FROM small WHERE id IN (SELECT a FROM bare)
SELECT * FROM small WHERE id NOT IN (SELECT v FROM small WHERE v IS NOT NULL)
SELECT * FROM small s WHERE EXISTS (SELECT 1 FROM orders o WHERE o.customer = s.id)
SELECT * FROM small s WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.customer = s.id)
SELECT * FROM small s WHERE EXISTS (SELECT 1 FROM customers c WHERE c.id = s.id AND c.region = 3)
SELECT * FROM small s WHERE NOT EXISTS (SELECT 1 FROM customers c WHERE c.id = s.id)
SELECT * FROM small WHERE v = (SELECT MAX(v) FROM small)
SELECT * FROM small WHERE v = (SELECT MAX(b) FROM bare)
SELECT * FROM small WHERE v > (SELECT AVG(b) FROM bare)
SELECT * FROM small s WHERE v = (SELECT MAX(o.state) FROM orders o WHERE o.customer = s.id)
SELECT s.id, (SELECT COUNT(*) FROM orders o WHERE o.customer = s.id) FROM small s
SELECT s.id, (SELECT MAX(b) FROM bare) FROM small s
SELECT s.id, (SELECT MAX(b) FROM bare WHERE a = s.v) FROM small s
SELECT (SELECT 1)
SELECT (SELECT MAX(b) FROM bare), (SELECT MIN(b) FROM bare)
SELECT * FROM small WHERE v > ALL (SELECT b FROM bare WHERE b < 3)
SELECT * FROM small WHERE v > ANY (SELECT b FROM bare WHERE b < 3)
SELECT * FROM small s WHERE s.v IN (SELECT x.v FROM small x WHERE x.w > s.w)
SELECT * FROM (SELECT * FROM customers WHERE region = 3) x WHERE x.rank_no = 5
SELECT * FROM (SELECT region, COUNT(*) n FROM customers GROUP BY region) x
SELECT * FROM (SELECT region, COUNT(*) n FROM customers GROUP BY region) x WHERE x.n > 3
SELECT * FROM (SELECT region, COUNT(*) n FROM customers GROUP BY region) x ORDER BY n
SELECT x.region, y.a FROM (SELECT region, COUNT(*) n FROM customers GROUP BY region) x, (SELECT a, COUNT(*) m FROM bare GROUP BY a) y
SELECT * FROM (SELECT * FROM bare ORDER BY b LIMIT 5) x
SELECT * FROM (SELECT DISTINCT a FROM bare) x
SELECT * FROM (SELECT DISTINCT a FROM bare) x JOIN small s ON s.id = x.a
SELECT * FROM (SELECT a FROM bare UNION SELECT v FROM small) x
SELECT * FROM (SELECT a FROM bare UNION ALL SELECT v FROM small) x
SELECT * FROM rich
SELECT * FROM rich WHERE region = 3
SELECT * FROM rich r JOIN orders o ON o.customer = r.id WHERE o.id = 5
SELECT * FROM totals
SELECT * FROM totals WHERE number > 2
WITH q AS (SELECT region, COUNT(*) n FROM customers GROUP BY region) SELECT * FROM q
WITH q AS (SELECT id, region FROM customers WHERE rank_no = 5) SELECT * FROM q WHERE region = 3
WITH q AS (SELECT a, COUNT(*) n FROM bare GROUP BY a) SELECT * FROM q x, q y
SELECT a FROM bare UNION SELECT v FROM small
SELECT a FROM bare UNION ALL SELECT v FROM small
SELECT a FROM bare UNION ALL SELECT v FROM small UNION ALL SELECT w FROM small
SELECT a FROM bare UNION SELECT v FROM small UNION SELECT w FROM small
SELECT a FROM bare UNION SELECT v FROM small ORDER BY 1
SELECT a FROM bare UNION SELECT v FROM small LIMIT 5
SELECT a FROM bare UNION ALL SELECT v FROM small ORDER BY 1 LIMIT 5
(SELECT a FROM bare ORDER BY b LIMIT 3) UNION ALL (SELECT v FROM small)
SELECT 1 UNION SELECT 2
SELECT 1 UNION ALL SELECT v FROM small
SELECT s.id FROM small s WHERE s.id = 3 UNION SELECT o.id FROM orders o WHERE o.customer = 5
SELECT * FROM small WHERE id IN (SELECT a FROM bare UNION SELECT v FROM small)
SELECT COUNT(*) FROM (SELECT a FROM bare GROUP BY a) x
SELECT * FROM information_schema.ENGINES WHERE 1 = 0
SELECT c.* FROM customers c WHERE c.id = (SELECT o.customer FROM orders o WHERE o.id = 5)
SELECT c.* FROM customers c WHERE c.region = 1 AND c.rank_no IN (1, 2, 3)
SELECT * FROM orders WHERE id = 5 FOR UPDATE
SELECT * FROM orders WHERE customer = 5 LOCK IN SHARE MODE
SELECT SQL_NO_CACHE * FROM small
SELECT NOW(), id FROM small WHERE id = 3
SELECT RAND() FROM small
SELECT * FROM small WHERE id = 3 AND v = 99
SELECT * FROM small x JOIN small y ON x.id = y.id WHERE x.id = 3
SELECT * FROM small x JOIN small y ON x.id = y.v WHERE x.id = 3
SELECT * FROM small x LEFT JOIN small y ON y.id = x.v WHERE x.id = 3
SELECT * FROM orders o JOIN customers c ON c.id = o.customer JOIN small s ON s.id = c.region WHERE o.id = 12
SELECT * FROM customers WHERE born > '1999-01-01'
SELECT * FROM customers WHERE born BETWEEN '1990-01-01' AND '1991-01-01' AND region = 2
SELECT * FROM customers WHERE note = 'xxx'
SELECT * FROM customers WHERE NOT (id > 10)
SELECT * FROM customers WHERE id <> 5
SELECT * FROM customers WHERE region <> 5 AND id < 7
SELECT * FROM customers WHERE id + 1 = 6
SELECT * FROM customers WHERE region IN (1, 2) AND rank_no IN (3, 4)
SELECT * FROM customers WHERE (region = 1 AND rank_no = 3) OR (region = 2 AND rank_no = 4)
SELECT * FROM customers WHERE region = 1 AND (rank_no = 3 OR rank_no > 98)
SELECT * FROM customers WHERE id = 5 OR id = 7
SELECT * FROM customers WHERE region IS NOT NULL AND id < 20
SELECT id FROM customers WHERE region IS NOT NULL AND region < 1
SELECT * FROM customers WHERE region <=> 3 AND rank_no < 3
SELECT * FROM customers WHERE region <=> NULL
SELECT * FROM orders FORCE INDEX (i_customer) WHERE customer IS NULL
SELECT * FROM orders FORCE INDEX (i_customer) WHERE customer = 7 OR customer IS NULL
SELECT * FROM products FORCE INDEX (i_kind) WHERE kind = 'a'
SELECT * FROM products FORCE INDEX (i_kind) WHERE kind = 'a' AND price > 10
SELECT * FROM products FORCE INDEX (i_tags) WHERE tags = 'tag 5'
SELECT * FROM products FORCE INDEX (i_tags) WHERE tags LIKE 'tag 1%'
SELECT * FROM lines_of FORCE INDEX (i_shipped) WHERE shipped > '2020-09-12 00:00:00'
SELECT * FROM lines_of FORCE INDEX (i_shipped) WHERE shipped = '2020-09-12 10:00:00'
SELECT * FROM lines_of FORCE INDEX (i_product) WHERE product = 17
SELECT * FROM lines_of FORCE INDEX (i_product) WHERE product IN (17, 18) AND amount > 100
SELECT * FROM small FORCE INDEX (i_v) WHERE v = 3
SELECT * FROM small FORCE INDEX (i_v) WHERE v = 3 AND w > 5
SELECT * FROM small FORCE INDEX (i_v) WHERE v > 2
SELECT v FROM small FORCE INDEX (i_v) WHERE v = 3
SELECT * FROM customers FORCE INDEX (i_region_rank) WHERE region = 3
SELECT * FROM customers FORCE INDEX (i_region_rank) WHERE region = 3 AND rank_no = 5 AND id > 7
SELECT * FROM customers FORCE INDEX (i_region) WHERE region BETWEEN 3 AND 5
SELECT * FROM customers FORCE INDEX (i_region) WHERE region BETWEEN 3 AND 5 ORDER BY region
SELECT * FROM customers FORCE INDEX (i_region) WHERE region BETWEEN 3 AND 5 ORDER BY region DESC
SELECT * FROM orders FORCE INDEX (i_placed_state) WHERE placed = 3 ORDER BY state
SELECT * FROM orders FORCE INDEX (i_placed_state) WHERE placed = 5 AND comment = 'z5'
SELECT c.code, o.id FROM orders o FORCE INDEX (i_placed_state) JOIN customers c ON o.customer = c.id WHERE o.placed = 5
SELECT c.code, o.id FROM orders o FORCE INDEX (i_placed_state) JOIN customers c ON o.customer = c.id WHERE o.placed = 5 ORDER BY c.code
SELECT c.region, COUNT(*) FROM orders o FORCE INDEX (i_placed_state) JOIN customers c ON o.customer = c.id WHERE o.placed = 5 GROUP BY c.region
SELECT STRAIGHT_JOIN * FROM small s JOIN small t FORCE INDEX (PRIMARY) ON s.id = t.id
SELECT STRAIGHT_JOIN * FROM small s JOIN small t FORCE INDEX (i_v) ON s.v = t.v
SELECT STRAIGHT_JOIN * FROM small s JOIN small t FORCE INDEX (i_v) ON s.id = t.v WHERE s.w > 4
SELECT STRAIGHT_JOIN * FROM small y, bare x
SELECT STRAIGHT_JOIN * FROM bare b JOIN small s FORCE INDEX (PRIMARY) ON s.id = b.a
SELECT STRAIGHT_JOIN * FROM small s LEFT JOIN orders o FORCE INDEX (i_customer) ON o.customer = s.id AND o.state = 2
SELECT ROW_NUMBER() OVER w, SUM(b) OVER w FROM bare WINDOW w AS (ORDER BY b)
SELECT ROW_NUMBER() OVER w1, SUM(b) OVER w2 FROM bare WINDOW w1 AS (ORDER BY b), w2 AS (w1)
SELECT ROW_NUMBER() OVER (w ORDER BY c), SUM(b) OVER w FROM bare WINDOW w AS (PARTITION BY b)
SELECT SUM(b) OVER (ORDER BY b), ROW_NUMBER() OVER `W 1` FROM bare WINDOW `W 1` AS (ORDER BY b)
SELECT ROW_NUMBER() OVER w1, SUM(b) OVER w2, RANK() OVER (ORDER BY c), RANK() OVER (ORDER BY b) FROM bare WINDOW w1 AS (ORDER BY b), w2 AS (ORDER BY c)
SELECT ROW_NUMBER() OVER w1, SUM(b) OVER w2, RANK() OVER (ORDER BY c) FROM bare WINDOW w1 AS (ORDER BY b), w2 AS (ORDER BY c), w3 AS () ORDER BY a
SELECT RANK() OVER w2, SUM(a) OVER (ORDER BY c) FROM bare WINDOW w1 AS (ORDER BY b), w2 AS (ORDER BY a)
SELECT DISTINCT ROW_NUMBER() OVER w, RANK() OVER (ORDER BY b) AS r FROM bare WINDOW w AS (ORDER BY b) ORDER BY r
SELECT SUM(a) OVER (w ROWS 1 PRECEDING), RANK() OVER w FROM bare WINDOW w AS (ORDER BY b)
SELECT b, SUM(SUM(a)) OVER w, RANK() OVER (ORDER BY b) FROM bare GROUP BY b WINDOW w AS (ORDER BY b DESC)
SELECT FIRST_VALUE(c) OVER w, MAX(c) OVER w, NTH_VALUE(c, 2) OVER w, NTILE(2) OVER w, LAG(c) OVER w FROM bare WINDOW w AS (ORDER BY b)
SELECT RANK() OVER (ORDER BY b), RANK() OVER (PARTITION BY b) FROM bare
"""

CHANGES = """
INSERT INTO small VALUES (1000, 1, 1)
INSERT INTO small (id, v, w) SELECT a + 1000, b, 1 FROM bare
INSERT INTO small (id, v, w) SELECT id + 5000, region, 1 FROM customers WHERE region = 3
INSERT INTO small SET id = 1000, v = 1, w = 1
INSERT INTO small VALUES (1000, 1, 1) ON DUPLICATE KEY UPDATE v = 2
REPLACE INTO small VALUES (1000, 1, 1)
REPLACE INTO small SELECT b + 1000, a, 1 FROM bare
UPDATE small SET w = 1 WHERE id = 3
UPDATE small SET w = 1
UPDATE bare SET b = 1
UPDATE bare SET b = 1 WHERE a = 3
UPDATE customers SET rank_no = 1 WHERE id < 10
UPDATE customers SET rank_no = 1 WHERE region = 3 AND note = 'x'
UPDATE orders SET comment = 'q' WHERE customer = 7
UPDATE orders SET comment = 'q' WHERE customer BETWEEN 7 AND 9
UPDATE orders SET comment = 'q' WHERE 1 = 0
UPDATE orders o JOIN customers c ON c.id = o.customer SET o.comment = 'q' WHERE c.id = 5
UPDATE bare SET b = 1 ORDER BY b LIMIT 3
DELETE FROM small WHERE id = 3
DELETE FROM small WHERE id > 3
DELETE FROM small
DELETE FROM bare WHERE a = 3
DELETE FROM orders WHERE customer = 7
DELETE FROM orders WHERE placed = 7 AND state = 1
DELETE FROM orders WHERE customer IN (7, 8)
DELETE FROM orders WHERE 1 = 0
DELETE FROM bare ORDER BY b LIMIT 3
DELETE o FROM orders o JOIN customers c ON c.id = o.customer WHERE c.id = 5
DELETE o, c FROM orders o JOIN customers c ON c.id = o.customer WHERE c.id = 5
DELETE FROM small WHERE id = (SELECT MAX(b) FROM bare)
"""


def statements():
    """All statements that are explained."""
    return [line for line in (SELECTS + CHANGES).split("\n") if line]
