CREATE TABLE users (
    id INT NOT NULL PRIMARY KEY AUTO_INCREMENT,
    email VARCHAR(80) NOT NULL,
    name VARCHAR(40) NOT NULL,
    created DATETIME NOT NULL,
    UNIQUE KEY email (email),
    KEY created (created)
);

CREATE TABLE products (
    id INT NOT NULL PRIMARY KEY AUTO_INCREMENT,
    name VARCHAR(60) NOT NULL,
    category INT NOT NULL,
    price DECIMAL(10,2) NOT NULL,
    stock INT NOT NULL,
    KEY category (category, price),
    KEY name (name)
);

CREATE TABLE orders (
    id INT NOT NULL PRIMARY KEY AUTO_INCREMENT,
    user_id INT NOT NULL,
    status VARCHAR(12) NOT NULL,
    created DATETIME NOT NULL,
    total DECIMAL(12,2) NOT NULL,
    KEY user (user_id, created),
    KEY status (status, created),
    KEY created (created)
);

CREATE TABLE order_lines (
    order_id INT NOT NULL,
    no INT NOT NULL,
    product_id INT NOT NULL,
    quantity INT NOT NULL,
    price DECIMAL(10,2) NOT NULL,
    PRIMARY KEY (order_id, no),
    KEY product (product_id)
);

CREATE TABLE comments (
    id INT NOT NULL PRIMARY KEY AUTO_INCREMENT,
    product_id INT NOT NULL,
    user_id INT NOT NULL,
    created DATETIME NOT NULL,
    stars TINYINT NOT NULL,
    body VARCHAR(400) NOT NULL,
    KEY product (product_id, created),
    KEY user (user_id)
);

CREATE TABLE tickets (
    id INT NOT NULL PRIMARY KEY AUTO_INCREMENT,
    project INT NOT NULL,
    assignee INT,
    status TINYINT NOT NULL,
    priority TINYINT NOT NULL,
    created DATETIME NOT NULL,
    updated DATETIME NOT NULL,
    title VARCHAR(100) NOT NULL,
    KEY assignee (assignee, status),
    KEY project (project, status, priority),
    KEY updated (updated)
);
