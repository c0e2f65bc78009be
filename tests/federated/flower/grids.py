"""A Grid in this process, whose nodes come, go, fail and dawdle as a test wants."""

from flwr.app import Context, Error, Message, RecordDict

from minmin.federated.flower import client_app


class Node:
    """A SuperNode: an app, and what its operator configured."""

    def __init__(self, build, **config):
        self.app = client_app(build)
        self.config = {name.replace("_", "-"): value for name, value in config.items()}
        self.received = []

    def handle(self, message):
        self.received.append(message)
        context = Context(run_id=1, node_id=0, node_config=self.config, state=RecordDict(), run_config={})
        return self.app(message=message, context=context)


def failing(code):
    """What a grid hands over where a message came to nothing."""
    return lambda message: Message(Error(code, "row 3.14159 of the data is wrong"), reply_to=message)


class InProcessGrid:
    """What the engine asks of a Grid, with nodes by their ids.

    ``on_push`` may do something in place of a node: answer, or nothing (None).
    """

    def __init__(self, nodes):
        self.nodes = dict(nodes)
        self.replies = {}
        self.pushed = []
        self.pulled = []
        self.on_push = None
        self.on_look = None

    def get_node_ids(self):
        if self.on_look is not None:
            self.on_look()
        return list(self.nodes)

    def push_messages(self, messages):
        return [self._push(message) for message in messages]

    def _push(self, message):
        key = str(len(self.pushed))
        message.metadata.__dict__["_message_id"] = key
        message.metadata.__dict__["_src_node_id"] = 1
        message.metadata.__dict__["_run_id"] = 1
        self.pushed.append(message)
        node = self.nodes.get(message.metadata.dst_node_id)
        if self.on_push is not None:
            reply = self.on_push(node, message)
        else:
            reply = None if node is None else node.handle(message)
        if reply is not None:
            self.replies[key] = reply
        return key

    def pull_messages(self, message_ids):
        found = [self.replies.pop(key) for key in message_ids if key in self.replies]
        self.pulled += found
        return found
