// A viewer that does not read, on real sockets and both HTTP engines: it uses limited memory, and receives
// the whole state when it resumes reading.

import { afterEach, describe, expect, test } from 'vitest';
import { listen } from '../../../src/http/listener/listen.ts';
import type { HttpStream, Listener } from '../../../src/http/listener/seam.ts';
import { eventText, Viewer } from '../../../src/inspector/feed/viewer.ts';
import { eventually } from '../../fixtures/clients/api-client.ts';
import { RawClient } from '../../fixtures/clients/raw-http.ts';
import { httpEngines } from '../../fixtures/gateway/http-engines.ts';

const MB = 1024 * 1024;
const MAX_BUFFERED = 2 * MB;
const frame = eventText('frame', { padding: 'x'.repeat(64 * 1024) });

let listener: Listener | undefined;
let client: RawClient | undefined;
afterEach(() => {
  client?.destroy();
  listener?.close();
});

interface WatchedFeed {
  readonly viewer: Viewer;
  readonly stream: HttpStream;
}

async function watch(prefer: 'uws' | 'node'): Promise<WatchedFeed & { readonly client: RawClient }> {
  let watched: WatchedFeed | undefined;
  listener = await listen({
    host: '127.0.0.1',
    port: 0,
    maxBodyBytes: 1_000,
    prefer,
    handler: () => (_request, _body, reply) => {
      const stream = reply.stream(200, [['content-type', 'text/event-stream']]);
      watched = { stream, viewer: new Viewer(stream, (missed) => eventText('tree', { missed })) };
      watched.viewer.sendComplete();
    },
  });
  client = await RawClient.connect(listener.address.port);
  client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  await client.until(() => client?.text.includes('"missed":0') || undefined, 'the first tree');
  if (watched === undefined) throw new Error('no viewer is connected');
  return { ...watched, client };
}

describe.each(httpEngines)('a viewer on %s', (http) => {
  test('that does not read its stream receives no more than the buffer limit, and later the whole state with the number of missed messages', async () => {
    const { viewer, stream, client } = await watch(http);
    client.socket.pause();
    const frameCount = 1_000;
    let highest = 0;
    for (let count = 0; count < frameCount; count += 1) {
      viewer.send(frame);
      viewer.heartbeat();
      highest = Math.max(highest, stream.bufferedBytes);
      // Yields: the system fills the socket buffers.
      if (count % 50 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    expect(highest).toBeGreaterThan(MAX_BUFFERED);
    expect(highest).toBeLessThan(MAX_BUFFERED + 2 * frame.length);

    client.socket.resume();
    // The system buffers some megabytes, so a viewer has possibly caught up meanwhile.
    const missedSoFar = () =>
      Number(
        client.text
          .match(/"missed":\d+/g)
          ?.at(-1)
          ?.slice('"missed":'.length),
      );
    await eventually('the whole state', () => {
      viewer.send(frame);
      return missedSoFar() > frameCount / 2;
    });
    const after = client.text.lastIndexOf('"missed":');
    await eventually('further frames', () => {
      viewer.send(frame);
      return client.text.includes('event: frame', after);
    });
  });

  test('that requests the whole state receives the actor tree immediately', async () => {
    const { viewer, client } = await watch(http);
    viewer.sendComplete();
    await client.until(() => client.text.match(/event: tree/g)?.[1], 'a second tree');
    viewer.end();
    await client.until(() => (client.text.includes('\r\n0\r\n\r\n') ? true : undefined), 'the end');
  });
});
