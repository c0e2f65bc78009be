"""Make the certificates and keys that Flower needs between machines, and print where to copy them and what to run.

    python scripts/flower_credentials.py FOLDER --server flower.example.org --node berlin --node paris

FOLDER then contains one folder for the server, one for each node, and ca.key, which signs certificates. Keep ca.key
secret and do not copy it.
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
    parser.add_argument("folder", type=Path, help="the folder to create; it must not exist")
    parser.add_argument(
        "--server", required=True, action="append", help="the host name or address of the SuperLink; repeatable"
    )
    parser.add_argument(
        "--node", required=True, action="append", help="the name of a SuperNode, used as its client-id; repeatable"
    )
    parser.add_argument("--days", type=int, default=365, help="how long the certificates are valid (default 365)")
    arguments = parser.parse_args()
    for node in arguments.node:
        if not _NAME.fullmatch(node) or node == "server" or arguments.node.count(node) > 1:
            sys.exit(f"--node {node!r}: each node needs a different name of letters, digits, - and _, and not 'server'")
    if arguments.days < 1:
        sys.exit(f"--days {arguments.days} must be at least 1")
    try:
        arguments.folder.mkdir(parents=True, mode=0o700)
    except OSError as error:
        sys.exit(f"cannot create the folder {arguments.folder} ({error.strerror}); give one that does not exist")
    write_credentials(arguments.folder, arguments.server, arguments.node, arguments.days)
    print(describe_next_steps(arguments.folder, arguments.server[0], arguments.node))


def write_credentials(folder: Path, servers: list[str], nodes: list[str], days: int) -> None:
    """Write a certificate authority, a server certificate that it signs, and a key pair for each node."""
    authority_key, authority = make_authority(days)
    server_key, server = make_server_certificate(servers, authority_key, authority, days)
    write_secret(folder / "ca.key", to_pem(authority_key))
    for place in ["server", *nodes]:
        (folder / place).mkdir(mode=0o700)
        (folder / place / "ca.crt").write_bytes(authority.public_bytes(serialization.Encoding.PEM))
    (folder / "server" / "server.crt").write_bytes(server.public_bytes(serialization.Encoding.PEM))
    write_secret(folder / "server" / "server.key", to_pem(server_key))
    for node in nodes:
        key = ec.generate_private_key(ec.SECP384R1())
        write_secret(folder / node / "node.key", to_openssh(key))
        public = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
        (folder / "server" / f"{node}.pub").write_bytes(public + b"\n")


def make_authority(days: int) -> tuple[ec.EllipticCurvePrivateKey, x509.Certificate]:
    key = ec.generate_private_key(ec.SECP384R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "minmin federation")])
    usage = {name: name in ("key_cert_sign", "crl_sign") for name in _USAGES}
    return key, (
        _build_certificate(name, name, key, days)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.KeyUsage(**usage), critical=True)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA384())
    )


def make_server_certificate(
    servers: list[str], authority_key: ec.EllipticCurvePrivateKey, authority: x509.Certificate, days: int
) -> tuple[ec.EllipticCurvePrivateKey, x509.Certificate]:
    """A certificate for the given names and addresses, and for localhost, which the SuperLink's own processes use."""
    key = ec.generate_private_key(ec.SECP384R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, servers[0][:64])])
    usage = {name: name == "digital_signature" for name in _USAGES}
    hosts = dict.fromkeys([*servers, "localhost", "127.0.0.1"])
    return key, (
        _build_certificate(name, authority.subject, key, days)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.KeyUsage(**usage), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName([_general_name(host) for host in hosts]), critical=False)
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


def _build_certificate(
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


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def to_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    unencrypted = serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, unencrypted)


def to_openssh(key: ec.EllipticCurvePrivateKey) -> bytes:
    unencrypted = serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, unencrypted)


def write_secret(path: Path, data: bytes) -> None:
    """Write a new file that only its owner can read."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(data)


def describe_next_steps(folder: Path, server: str, nodes: list[str]) -> str:
    registrations = "\n".join(f"    flwr supernode register server/{node}.pub minmin" for node in nodes)
    starts = "\n\n".join(
        f"""On {node}, with {folder / node} copied there:
    flower-supernode --superlink {server}:{PORT} --root-certificates {node}/ca.crt \\
        --auth-supernode-private-key {node}/node.key --node-config 'client-id="{node}" partition-id={i}'"""
        for i, node in enumerate(nodes)
    )
    return f"""On all machines, to turn off usage reports and update checks:
    export FLWR_TELEMETRY_ENABLED=0 FLWR_DISABLE_UPDATE_CHECK=1

On {server}, with {folder / "server"} copied there:
    flower-superlink --host 0.0.0.0 --port {PORT} --enable-supernode-auth --database superlink.db \\
        --disable-runtime-dependency-installation --ssl-ca-certfile server/ca.crt \\
        --ssl-certfile server/server.crt --ssl-keyfile server/server.key

Also on {server}, with these lines in ~/.flwr/config.toml:
    [superlink.minmin]
    address = "127.0.0.1:{PORT}"
    root-certificates = "/absolute/path/to/server/ca.crt"
first register the keys of the nodes; then, when the nodes run, start the app:
{registrations}
    flwr run examples/flower minmin --run-config 'clients={len(nodes)}' --stream

{starts}

{folder / "ca.key"} signs certificates: keep it secret. Let other machines reach only {server}:{PORT}/v1/fleet/,
see docs/guides/flower.md."""


if __name__ == "__main__":
    main()
