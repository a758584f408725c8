CREATE TABLE users (
    id INT NOT NULL PRIMARY KEY,
    name VARCHAR(40) NOT NULL,
    status VARCHAR(12) NOT NULL,
    city INT NOT NULL,
    postcode INT NOT NULL,
    country INT NOT NULL,
    region INT NOT NULL,
    badge INT,
    deleted_by INT,
    KEY status (status),
    KEY place (country, region)
);

CREATE TABLE categories (
    id INT NOT NULL PRIMARY KEY,
    name VARCHAR(40) NOT NULL,
    UNIQUE KEY name (name)
);

CREATE TABLE posts (
    id INT NOT NULL PRIMARY KEY,
    author INT NOT NULL,
    category INT,
    created DATE NOT NULL,
    link VARCHAR(80) NOT NULL,
    KEY author (author),
    KEY category (category),
    KEY created (created),
    KEY link (link)
);

CREATE TABLE comments (
    id INT NOT NULL PRIMARY KEY,
    post_id INT NOT NULL,
    user_id INT NOT NULL,
    stars TINYINT NOT NULL,
    KEY post (post_id),
    KEY user (user_id)
);
