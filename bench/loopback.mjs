// Preloaded into a program that always listens on all interfaces, to make it listen on loopback.

import { Server } from 'node:net';

const { listen } = Server.prototype;
Server.prototype.listen = function listenOnLoopback(port, ...rest) {
  const hasNoHost = typeof port === 'number' && typeof rest[0] !== 'string';
  return listen.call(this, port, ...(hasNoHost ? ['127.0.0.1', ...rest] : rest));
};
