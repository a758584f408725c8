"""Migrations of Alembic against a server: python alembic_client.py PORT

Prints the definitions of the tables in the end; alembic.txt has what MySQL 8.0.33 prints.
"""

import sys

import sqlalchemy as sa
from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy import Column, Integer, Numeric, String, Text, text
from sqlalchemy.dialects import mysql

server = f"mysql+pymysql://root@127.0.0.1:{sys.argv[1]}/"
with sa.create_engine(server).connect() as connection:
    connection.exec_driver_sql("drop database if exists migrated")
    connection.exec_driver_sql("create database migrated")
engine = sa.create_engine(server + "migrated")
with engine.connect() as connection:
    op = Operations(MigrationContext.configure(connection))
    op.create_table(
        "acc", Column("id", Integer, primary_key=True), Column("name", String(50), nullable=False), Column("desc", String(200)),
        Column("ts", sa.TIMESTAMP, server_default=sa.func.now()), Column("amt", Numeric(10, 2), server_default="1.5"),
        Column("flag", sa.Boolean, server_default=text("0")), Column("e", sa.Enum("a", "b")), Column("bl", sa.LargeBinary),
        Column("tx", Text), Column("c2", Integer, sa.Computed("amt + 1")),
        Column("c3", Integer, sa.Computed("amt * 2", persisted=True)),
        sa.CheckConstraint("amt > 0", name="amt_pos"), sa.UniqueConstraint("name", name="un"),
        mysql_engine="InnoDB", mysql_charset="utf8mb4", comment="accounts")
    op.execute("insert into acc (id, name, ts) values (1, 'x', '2001-02-03'), (2, 'y', '2001-02-03')")
    op.add_column("acc", Column("last", sa.DateTime, comment="when"))
    op.add_column("acc", Column("n", Integer, nullable=False, server_default="7"))
    op.alter_column("acc", "name", existing_type=String(50), type_=String(100), existing_nullable=False)
    op.alter_column("acc", "desc", new_column_name="descr", existing_type=String(200))
    op.alter_column("acc", "n", nullable=True, existing_type=Integer)
    op.alter_column("acc", "n", server_default="9", existing_type=Integer)
    op.alter_column("acc", "tx", comment="text", existing_type=Text)
    op.create_index("ix_n", "acc", ["n", "name"], mysql_length={"name": 10})
    op.create_index("ix_l", "acc", [text("(lower(name))")])
    op.create_index("ix_u", "acc", ["descr"], unique=True)
    op.create_unique_constraint("uq2", "acc", ["n", "flag", "id"])
    op.create_check_constraint("ck2", "acc", "n < 100 or name like 'x%%'")
    op.drop_constraint("uq2", "acc", type_="unique")
    op.drop_index("ix_u", "acc")
    op.drop_column("acc", "e")
    op.create_table_comment("acc", "other", existing_comment="accounts")
    op.drop_constraint("un", "acc", type_="unique")
    op.rename_table("acc", "account")
    op.create_table("bare", Column("a", Integer), Column("d", mysql.DATETIME(fsp=6)), Column("b", mysql.BIT(4)))
    op.create_primary_key("pk", "bare", ["a"])
    op.drop_constraint("pk", "bare", type_="primary")
    op.create_primary_key("pk", "bare", ["a", "d"])
    for table in ("account", "bare"):
        print(connection.exec_driver_sql(f"show create table {table}").fetchone()[1])
    for row in connection.exec_driver_sql("select * from account order by id"):
        print(*row, sep="|")
    seen = sa.inspect(engine)
    for table in ("account", "bare"):
        for column in seen.get_columns(table):
            print(column["name"], column["type"], column["nullable"], column["default"], column.get("computed"), sep="|")
        for index in seen.get_indexes(table):
            print(index["name"], index["column_names"], index["unique"])
        for check in seen.get_check_constraints(table):
            print(check["name"], check["sqltext"])
        print(seen.get_pk_constraint(table)["constrained_columns"], seen.get_table_comment(table)["text"])
