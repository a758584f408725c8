CREATE TABLE operands (
    id INT NOT NULL PRIMARY KEY,
    g INT NOT NULL DEFAULT 7,
    i INT,
    b BIGINT,
    n DECIMAL(14,4),
    x DOUBLE,
    p DOUBLE,
    a VARCHAR(80),
    s VARCHAR(80),
    k VARBINARY(32),
    d DATE,
    dt DATETIME,
    t TIME,
    moment VARCHAR(20),
    ip VARCHAR(15),
    uuid CHAR(36),
    list VARCHAR(60)
) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci;
