"""Migrations of Django against a server: python django_client.py PORT

Prints the definitions of the tables in the end; django.txt has what MySQL 8.0.33 prints.
"""

import sys

import pymysql

pymysql.version_info = (2, 2, 4, "final", 0)  # Django asks for a version of mysqlclient.
pymysql.install_as_MySQLdb()

import django
from django.conf import settings

at = {"HOST": "127.0.0.1", "PORT": int(sys.argv[1]), "USER": "root", "PASSWORD": ""}
settings.configure(DATABASES={"default": {"ENGINE": "django.db.backends.mysql", "NAME": "migrated", **at}}, USE_TZ=True)
server = pymysql.connect(host=at["HOST"], port=at["PORT"], user="root", password="")
server.cursor().execute("drop database if exists migrated")
server.cursor().execute("create database migrated")
django.setup()

from django.db import connection, migrations, models
from django.db.migrations.state import ProjectState
from django.db.models import F, Q
from django.db.models.functions import Lower, Now, Upper

add, alter = migrations.AddField, migrations.AlterField
constrain, drop = migrations.AddConstraint, migrations.RemoveConstraint
name = {"max_length": 200}
OPERATIONS = [
    migrations.CreateModel("Pony", [
        ("id", models.BigAutoField(primary_key=True)), ("pink", models.IntegerField(default=3)),
        ("weight", models.FloatField()), ("name", models.CharField(max_length=100, unique=True)),
        ("slug", models.SlugField(null=True)), ("born", models.DateField(null=True, db_index=True)),
        ("seen", models.DateTimeField(auto_now_add=True)), ("u", models.UUIDField(null=True)),
        ("t", models.TextField(default="")), ("small", models.PositiveSmallIntegerField(default=1)),
    ], options={"db_table_comment": "ponies"}),
    migrations.RunSQL("insert into app_pony (pink, weight, name, seen, t, small) values"
                      " (1, 2.5, 'abc', '2001-02-03', '', 1), (2, 3.5, 'Bcd', '2001-02-03', '', 1)"),
    add("Pony", "height", models.FloatField(null=True, default=5)),
    add("Pony", "text2", models.TextField(default="some text")),
    add("Pony", "green", models.IntegerField(db_default=4)),
    add("Pony", "made", models.DateTimeField(db_default=Now())),
    add("Pony", "words", models.TextField(db_default="abc")),
    add("Pony", "com", models.CharField(max_length=10, default="", db_comment="it's a 'comment'")),
    alter("Pony", "pink", models.IntegerField(null=True)),
    alter("Pony", "pink", models.BigIntegerField(default=7)),
    alter("Pony", "name", models.CharField(**name, unique=True)),
    alter("Pony", "name", models.CharField(**name)),
    alter("Pony", "name", models.CharField(**name, db_index=True, db_comment="n")),
    alter("Pony", "slug", models.TextField(null=True)),
    alter("Pony", "com", models.CharField(max_length=10, default="", db_collation="utf8mb4_bin")),
    alter("Pony", "green", models.IntegerField(db_default=5)),
    migrations.RenameField("Pony", "pink", "blue"),
    migrations.RenameField("Pony", "born", "birth"),
    migrations.AddIndex("Pony", models.Index(fields=["blue", "-weight"], name="bw")),
    migrations.AddIndex("Pony", models.Index(Lower("name").desc(), "blue", name="lowname")),
    migrations.RenameIndex("Pony", "bw2", old_name="bw"),
    constrain("Pony", models.CheckConstraint(condition=Q(weight__gt=0) | Q(blue__isnull=True), name="w_pos")),
    constrain("Pony", models.CheckConstraint(condition=~Q(blue=3) | Q(blue__in=[5, 7]), name="blues")),
    constrain("Pony", models.UniqueConstraint(fields=["name", "blue"], name="nb")),
    constrain("Pony", models.UniqueConstraint(Lower("name"), "birth", name="lnb")),
    migrations.AlterUniqueTogether("Pony", {("weight", "height")}),
    migrations.AlterUniqueTogether("Pony", set()),
    add("Pony", "area", models.GeneratedField(
        expression=F("weight") * F("height"), output_field=models.FloatField(), db_persist=True)),
    add("Pony", "up", models.GeneratedField(
        expression=Upper("name"), output_field=models.CharField(**name), db_persist=False)),
    drop("Pony", "blues"),
    drop("Pony", "nb"),
    migrations.RemoveIndex("Pony", "lowname"),
    migrations.RemoveField("Pony", "t"),
    alter("Pony", "id", models.AutoField(primary_key=True)),
    migrations.RenameModel("Pony", "Horse"),
    migrations.AlterModelTable("Horse", "stable"),
    migrations.AlterModelTableComment("Horse", "horses"),
]

state = ProjectState()
for operation in OPERATIONS:
    after = state.clone()
    operation.state_forwards("app", after)
    with connection.schema_editor(atomic=False) as editor:
        operation.database_forwards("app", editor, state, after)
    state = after

with connection.cursor() as cursor:
    cursor.execute("show create table stable")
    print(cursor.fetchone()[1])
    cursor.execute("select id, blue, name, height, text2, green, words, com, area, up from stable order by id")
    for row in cursor.fetchall():
        print(*row, sep="|")
    for key, told in sorted(connection.introspection.get_constraints(cursor, "stable").items()):
        print(key, told["columns"], told["unique"], told["index"], told["check"], told.get("orders"))
