"""Real engines; `make engines` installs them. Where they are missing the tests are skipped, and say so."""

import os
import shutil
import sys

import pytest


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    """A session of two threads that tries a task again if its worker dies, and whose log goes to a file."""
    pyspark = pytest.importorskip("pyspark", reason="Spark is not installed: make engines")
    if not (os.environ.get("JAVA_HOME") or shutil.which("java")):
        pytest.skip("Spark needs Java 17: on Debian, apt install openjdk-17-jre-headless")
    folder = tmp_path_factory.mktemp("spark")
    log = folder / "spark.log"
    (folder / "log4j2.properties").write_text(
        "rootLogger.level = warn\nrootLogger.appenderRef.file.ref = file\n"
        f"appender.file.type = File\nappender.file.name = file\nappender.file.fileName = {log}\n"
        "appender.file.layout.type = PatternLayout\nappender.file.layout.pattern = %p %c{1}: %m%n%ex\n"
    )
    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = (
        pyspark.sql.SparkSession.builder.master("local[2, 4]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.extraJavaOptions", f"-Dlog4j2.configurationFile=file:{folder}/log4j2.properties")
        .getOrCreate()
    )
    session.log = log
    yield session
    session.stop()
