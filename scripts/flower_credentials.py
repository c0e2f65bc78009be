"""Make the certificates and keys that Flower needs between machines, and say where each goes and what to type there.

    python scripts/flower_credentials.py FOLDER --server flower.example.org --node berlin --node paris

FOLDER then holds one folder for the server, one for each node, and ca.key, which signs certificates and goes nowhere.
"""

from __future__ import annotations

import argparse
import datetime
import ipaddress
import os
import re
import sys
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

PORT = 8000
_NAME = re.compile(r"[0-9A-Za-z][0-9A-Za-z_-]*")
_CLOCK_DIFFERENCE = datetime.timedelta(hours=1)


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Make the certificates and keys that Flower needs between machines.",
        epilog="Example: flower_credentials.py secrets --server flower.example.org --node berlin --node paris",
    )
    parser.add_argument("folder", type=Path, help="where they go; must not exist")
    parser.add_argument("--server", required=True, action="append", help="the SuperLink's name or address; repeatable")
    parser.add_argument("--node", required=True, action="append", help="a SuperNode's name, which is its client's id")
    parser.add_argument("--days", type=int, default=365, help="how long the certificates are good (default 365)")
    arguments = parser.parse_args()
    for node in arguments.node:
        if not _NAME.fullmatch(node) or node == "server" or arguments.node.count(node) > 1:
            sys.exit(
                f"--node {node!r}: give each node a name of its own, of letters, digits, - and _, and not 'server'"
            )
    if arguments.days < 1:
        sys.exit(f"--days {arguments.days} must be at least 1")
    try:
        arguments.folder.mkdir(parents=True, mode=0o700)
    except OSError as error:
        sys.exit(f"cannot make the folder {arguments.folder} ({error.strerror}); give one that does not exist")
    make(arguments.folder, arguments.server, arguments.node, arguments.days)
    print(advice(arguments.folder, arguments.server[0], arguments.node))


def make(folder: Path, servers: list[str], nodes: list[str], days: int) -> None:
    """An authority, the server's certificate under it, and a key pair for every node."""
    authority_key, authority = certificate_authority(days)
    server_key, server = server_certificate(servers, authority_key, authority, days)
    write_secret(folder / "ca.key", pem(authority_key))
    for place in ["server", *nodes]:
        (folder / place).mkdir(mode=0o700)
        (folder / place / "ca.crt").write_bytes(authority.public_bytes(serialization.Encoding.PEM))
    (folder / "server" / "server.crt").write_bytes(server.public_bytes(serialization.Encoding.PEM))
    write_secret(folder / "server" / "server.key", pem(server_key))
    for node in nodes:
        key = ec.generate_private_key(ec.SECP384R1())
        write_secret(folder / node / "node.key", openssh(key))
        public = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
        (folder / "server" / f"{node}.pub").write_bytes(public + b"\n")


def certificate_authority(days: int) -> tuple[ec.EllipticCurvePrivateKey, x509.Certificate]:
    key = ec.generate_private_key(ec.SECP384R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "minmin federation")])
    usage = {name: name in ("key_cert_sign", "crl_sign") for name in _USAGES}
    return key, (
        _begun(name, name, key, days)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.KeyUsage(**usage), critical=True)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA384())
    )


def server_certificate(
    servers: list[str], authority_key: ec.EllipticCurvePrivateKey, authority: x509.Certificate, days: int
) -> tuple[ec.EllipticCurvePrivateKey, x509.Certificate]:
    """For these names and addresses, and for this machine's own, since the SuperLink's helpers call it there."""
    key = ec.generate_private_key(ec.SECP384R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, servers[0][:64])])
    usage = {name: name == "digital_signature" for name in _USAGES}
    known = dict.fromkeys([*servers, "localhost", "127.0.0.1"])
    return key, (
        _begun(name, authority.subject, key, days)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.KeyUsage(**usage), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName([_alternative(server) for server in known]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key()), critical=False)
        .sign(authority_key, hashes.SHA384())
    )


_USAGES = (
    "digital_signature",
    "content_commitment",
    "key_encipherment",
    "data_encipherment",
    "key_agreement",
    "key_cert_sign",
    "crl_sign",
    "encipher_only",
    "decipher_only",
)


def _begun(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, days: int
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder(subject_name=subject, issuer_name=issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCK_DIFFERENCE)
        .not_valid_after(now + datetime.timedelta(days=days))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _alternative(server: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(server))
    except ValueError:
        return x509.DNSName(server)


def pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    plain = serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)


def openssh(key: ec.EllipticCurvePrivateKey) -> bytes:
    plain = serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, plain)


def write_secret(path: Path, data: bytes) -> None:
    """A file that its owner alone can read."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(data)


def advice(folder: Path, server: str, nodes: list[str]) -> str:
    registrations = "\n".join(f"    flwr supernode register server/{node}.pub minmin" for node in nodes)
    starts = "\n\n".join(
        f"""On {node}, with {folder / node} copied there:
    flower-supernode --superlink {server}:{PORT} --root-certificates {node}/ca.crt \\
        --auth-supernode-private-key {node}/node.key --node-config 'client-id="{node}" partition-id={i}'"""
        for i, node in enumerate(nodes)
    )
    return f"""Everywhere, for nothing to be told to anybody:
    export FLWR_TELEMETRY_ENABLED=0 FLWR_DISABLE_UPDATE_CHECK=1

On {server}, with {folder / "server"} copied there:
    flower-superlink --host 0.0.0.0 --port {PORT} --enable-supernode-auth --database superlink.db \\
        --disable-runtime-dependency-installation --ssl-ca-certfile server/ca.crt \\
        --ssl-certfile server/server.crt --ssl-keyfile server/server.key

On {server} too, with these lines in ~/.flwr/config.toml:
    [superlink.minmin]
    address = "127.0.0.1:{PORT}"
    root-certificates = "/absolute/path/to/server/ca.crt"
first let it know the nodes' keys, then, when they run, start the app:
{registrations}
    flwr run examples/flower minmin --run-config 'clients={len(nodes)}' --stream

{starts}

{folder / "ca.key"} signs certificates: keep it to yourself. Let other machines reach {server}:{PORT}/v1/fleet/ alone,
see docs/flower.md."""


if __name__ == "__main__":
    main()
