//! The statements of the pages. All name an order in which their rows are told apart, so that two databases give the
//! same rows.

/// A page of an application.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    pub name: &'static str,
    /// With names in braces for values.
    pub sql: &'static str,
}

const fn page(name: &'static str, sql: &'static str) -> Page {
    Page { name, sql }
}

pub const PAGES: &[Page] = &[
    // The shop.
    page("shop: user by mail", "SELECT id, name, created FROM users WHERE email = 'user{user}@example.org'"),
    page(
        "shop: category, first page",
        "SELECT id, name, price FROM products WHERE category = {category} ORDER BY price, id LIMIT 20",
    ),
    page(
        "shop: category, third page",
        "SELECT id, name, price FROM products WHERE category = {category} AND stock > 0 ORDER BY price, id \
         LIMIT 20 OFFSET 40",
    ),
    page(
        "shop: names that begin so",
        "SELECT name FROM products WHERE name LIKE 'Product {number}%' ORDER BY name LIMIT 10",
    ),
    page("shop: basket of 500", "SELECT id, name, price FROM products WHERE id IN ({ids})"),
    page(
        "shop: orders of a user",
        "SELECT id, status, created, total FROM orders WHERE user_id = {user} ORDER BY created DESC, id DESC LIMIT 20",
    ),
    page(
        "shop: last order of a user",
        "SELECT id, status, created, total FROM orders WHERE user_id = {user} ORDER BY created DESC, id DESC LIMIT 1",
    ),
    page("shop: what a user has spent", "SELECT SUM(total), COUNT(*), MAX(created) FROM orders WHERE user_id = {user}"),
    page(
        "shop: an order's lines",
        "SELECT l.no, l.quantity, l.price, p.name FROM order_lines l JOIN products p ON p.id = l.product_id \
         WHERE l.order_id = {order} ORDER BY l.no",
    ),
    page(
        "shop: a user's orders with lines",
        "SELECT o.id, o.created, l.no, p.name FROM orders o JOIN order_lines l ON l.order_id = o.id \
         JOIN products p ON p.id = l.product_id WHERE o.user_id = {user} ORDER BY o.created DESC, o.id, l.no LIMIT 10",
    ),
    page(
        "shop: newest done orders",
        "SELECT o.id, o.total, u.email FROM orders o JOIN users u ON u.id = o.user_id WHERE o.status = 'done' \
         ORDER BY o.created DESC, o.id DESC LIMIT 20",
    ),
    page(
        "shop: also bought",
        "SELECT b.product_id, COUNT(*) n FROM order_lines a JOIN order_lines b ON b.order_id = a.order_id \
         AND b.product_id <> a.product_id WHERE a.product_id = {product} GROUP BY b.product_id \
         ORDER BY n DESC, b.product_id LIMIT 5",
    ),
    page(
        "shop: never ordered",
        "SELECT p.id FROM products p WHERE p.category = {category} \
         AND NOT EXISTS (SELECT 1 FROM order_lines l WHERE l.product_id = p.id) ORDER BY p.id LIMIT 10",
    ),
    page("shop: states of orders", "SELECT DISTINCT status FROM orders ORDER BY status"),
    page("shop: open orders", "SELECT COUNT(*) FROM orders WHERE status = 'open'"),
    page("shop: first and last order", "SELECT MIN(created), MAX(created) FROM orders"),
    page("shop: a week's sales", "SELECT COUNT(*), SUM(total) FROM orders WHERE created BETWEEN {week}"),
    page("shop: a day's orders", "SELECT COUNT(*) FROM orders WHERE created BETWEEN {day}"),
    page(
        "shop: states since a day",
        "SELECT status, COUNT(*), SUM(total) FROM orders WHERE created >= '2024-12-01' GROUP BY status ORDER BY status",
    ),
    // The forum.
    page(
        "forum: newest comments",
        "SELECT c.id, c.body, u.name, p.name FROM comments c JOIN users u ON u.id = c.user_id \
         JOIN products p ON p.id = c.product_id ORDER BY c.id DESC LIMIT 10",
    ),
    page(
        "forum: comments of a product",
        "SELECT c.id, c.stars, c.body, c.created, u.name FROM comments c JOIN users u ON u.id = c.user_id \
         WHERE c.product_id = {product} ORDER BY c.created DESC, c.id DESC LIMIT 10",
    ),
    page("forum: stars of a product", "SELECT COUNT(*), AVG(stars) FROM comments WHERE product_id = {product}"),
    page(
        "forum: stars of four",
        "SELECT product_id, COUNT(*), AVG(stars) FROM comments \
         WHERE product_id IN ({product}, {product}, {product}, {product}) GROUP BY product_id ORDER BY product_id",
    ),
    page(
        "forum: counts of three",
        "SELECT p.id, p.name, COUNT(c.id) FROM products p LEFT JOIN comments c ON c.product_id = p.id \
         WHERE p.id IN ({product}, {product}, {product}) GROUP BY p.id, p.name ORDER BY p.id",
    ),
    page(
        "forum: has commented",
        "SELECT EXISTS (SELECT 1 FROM comments WHERE user_id = {user} AND product_id = {product})",
    ),
    page(
        "forum: products with comments",
        "SELECT p.id, p.name FROM products p WHERE p.category = {category} \
         AND EXISTS (SELECT 1 FROM comments c WHERE c.product_id = p.id) ORDER BY p.id LIMIT 10",
    ),
    page(
        "forum: who has commented",
        "SELECT id, name FROM users WHERE id IN (SELECT user_id FROM comments WHERE product_id = {product}) \
         ORDER BY id LIMIT 10",
    ),
    // The ticket system.
    page(
        "tickets: mine, open",
        "SELECT id, title, priority FROM tickets WHERE assignee = {assignee} AND status IN (0, 1) \
         ORDER BY priority DESC, id LIMIT 25",
    ),
    page(
        "tickets: board of a project",
        "SELECT status, COUNT(*) FROM tickets WHERE project = {project} GROUP BY status ORDER BY status",
    ),
    page("tickets: updated last", "SELECT id, title, updated FROM tickets ORDER BY updated DESC, id DESC LIMIT 30"),
    page("tickets: updated since", "SELECT COUNT(*) FROM tickets WHERE updated >= '2024-12-20 00:00:00'"),
    page(
        "tickets: nobody's",
        "SELECT id, title FROM tickets WHERE assignee IS NULL AND project = {project} AND status = 0 \
         ORDER BY priority DESC, id LIMIT 10",
    ),
    page(
        "tickets: top of a project",
        "SELECT t.id, t.title, u.name FROM tickets t LEFT JOIN users u ON u.id = t.assignee \
         WHERE t.project = {project} AND t.status = 0 ORDER BY t.priority DESC, t.id LIMIT 10",
    ),
];
