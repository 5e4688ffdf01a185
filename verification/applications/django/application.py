"""Django below gunicorn, whose workers are forked after this module has been loaded: gunicorn --preload application"""

import json
import os
import time
from contextlib import ExitStack
from urllib.parse import urlsplit

import django
from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.db import connection, connections, models, transaction
from django.http import JsonResponse, StreamingHttpResponse
from django.urls import path

import applock

where = urlsplit(os.environ["DATABASE_URL"])
settings.configure(
    DATABASES={"default": {
        "ENGINE": "django.db.backends.mysql" if where.scheme == "mysql" else "django.db.backends.postgresql",
        "HOST": where.hostname, "PORT": where.port, "USER": where.username, "PASSWORD": where.password, "NAME": where.path[1:],
        "CONN_MAX_AGE": 60,
    }},
    ROOT_URLCONF=__name__, ALLOWED_HOSTS=["127.0.0.1"], USE_TZ=True, TIME_ZONE="America/Panama", SECRET_KEY="of an application that is played only",
)
django.setup()
LIVE = "appl_lock_live" if where.scheme == "mysql" else "applock.appl_lock_live"


class Customer(models.Model):
    id = models.CharField(max_length=20, primary_key=True)
    name = models.CharField(max_length=40)
    saves = models.IntegerField(default=0)

    class Meta:
        app_label, db_table, managed = "application", "customer", False


def locks():
    """The locks on Django's own connection of this thread, and so in its transaction."""
    connection.ensure_connection()
    return applock.Locks(connection.connection)


def connect():
    """A connection of a lease's own, with Django's settings."""
    database = connections["default"]
    return database.get_new_connection(database.get_connection_params())


def lock(request, id):
    got = locks().get("customer", id, request.GET["operator"], ttl=3 * 24 * 3600)
    if not got:
        return JsonResponse({"granted": False, "holder": got.holder.operator, "expires": got.expires_at}, status=409)
    return JsonResponse({"granted": True, "fence": got.fence, "expires": got.expires_at})


def save(request, id):
    try:
        with transaction.atomic():
            locks().serialize("customer", id)
            customer = Customer.objects.filter(id=id).first() or Customer(id=id)
            customer.name, customer.saves = request.GET["name"], customer.saves + 1
            customer.save()
            locks().assert_held("customer", id, request.GET["operator"], int(request.GET["fence"]))
    except applock.Lost:
        return JsonResponse({"granted": False}, status=409)
    return JsonResponse({"granted": True, "saves": customer.saves})


class Undo(Exception):
    pass


def rollback(request, id):
    operator = request.GET["operator"]
    try:
        with transaction.atomic():
            Customer.objects.filter(id=id).update(saves=models.F("saves") + 1)
            taken = locks().get("invoice", id, operator)
            refused = locks().get("customer", id, operator)
            Customer.objects.filter(id=id).update(saves=models.F("saves") + 1)
            if request.GET["end"] == "rollback":
                raise Undo
    except Undo:
        pass
    return JsonResponse({"granted": taken.granted, "holder": refused.holder.operator})


def work(request, id):
    with ExitStack() as ends:
        try:
            lease = ends.enter_context(applock.Lease(connect, "job", id, ttl=int(request.GET["ttl"])))
        except applock.Held as held:
            return JsonResponse({"granted": False, "holder": held.answer.holder.operator}, status=409)
        held_on = ends.pop_all()  # the answer goes on after this function

    def lines():
        with held_on:
            yield json.dumps({"pid": os.getpid(), "operator": lease.operator, "fence": lease.fence}) + "\n"
            while Customer.objects.get(id=id).name != "done":
                lease.check()
                time.sleep(0.2)
        yield json.dumps({"done": True}) + "\n"

    return StreamingHttpResponse(lines(), content_type="application/x-ndjson")


def customers(request):
    rows = Customer.objects.raw(
        f"SELECT c.id, c.name, l.operator_id AS operator FROM customer AS c LEFT JOIN {LIVE} AS l"
        " ON l.object_type = 'customer' AND l.object_id = c.id ORDER BY c.id")
    return JsonResponse([{"id": row.id, "name": row.name, "operator": row.operator} for row in rows], safe=False)


urlpatterns = [path("lock/<id>", lock), path("save/<id>", save), path("rollback/<id>", rollback), path("work/<id>", work), path("list", customers)]

locks().check()  # before the fork; no worker may have this connection
connection.close()
application = get_wsgi_application()
