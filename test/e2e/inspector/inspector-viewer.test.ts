// A viewer that reads nothing, on real sockets and both HTTP fillings: it costs a bounded piece of memory, and gets
// everything anew when it reads again (VW1).

import { afterEach, describe, expect, test } from 'vitest';
import { listen } from '../../../src/http/listener/listen.ts';
import type { HttpStream, Listener } from '../../../src/http/listener/seam.ts';
import { eventText, Viewer } from '../../../src/inspector/feed/viewer.ts';
import { eventually } from '../../fixtures/clients/api-client.ts';
import { RawClient } from '../../fixtures/clients/raw-http.ts';
import { fillings } from '../../fixtures/gateway/fillings.ts';

const MB = 1024 * 1024;
const MAX_BUFFERED = 2 * MB;
const frame = eventText('frame', { padding: 'x'.repeat(64 * 1024) });

let listener: Listener | undefined;
let client: RawClient | undefined;
afterEach(() => {
  client?.destroy();
  listener?.close();
});

interface Watched {
  readonly viewer: Viewer;
  readonly stream: HttpStream;
}

async function watch(prefer: 'uws' | 'node'): Promise<Watched & { readonly client: RawClient }> {
  let watched: Watched | undefined;
  listener = await listen({
    host: '127.0.0.1',
    port: 0,
    maxBodyBytes: 1_000,
    prefer,
    handler: () => (_request, _body, reply) => {
      const stream = reply.stream(200, [['content-type', 'text/event-stream']]);
      watched = { stream, viewer: new Viewer(stream, (missed) => eventText('tree', { missed })) };
      watched.viewer.sendWhole();
    },
  });
  client = await RawClient.connect(listener.address.port);
  client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  await client.until(() => client?.text.includes('"missed":0') || undefined, 'the first tree');
  if (watched === undefined) throw new Error('nobody watches');
  return { ...watched, client };
}

describe.each(fillings)('a viewer on %s', (http) => {
  test('that reads nothing is sent no more than its bound, and then the whole, with what it has missed', async () => {
    const { viewer, stream, client } = await watch(http);
    client.socket.pause();
    const sent = 1_000;
    let highest = 0;
    for (let count = 0; count < sent; count += 1) {
      viewer.send(frame);
      viewer.heartbeat();
      highest = Math.max(highest, stream.bufferedBytes);
      // Lets the system take what it will.
      if (count % 50 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    expect(highest).toBeGreaterThan(MAX_BUFFERED);
    expect(highest).toBeLessThan(MAX_BUFFERED + 2 * frame.length);

    client.socket.resume();
    // While the system takes its few megabytes, a viewer may catch up once or twice already.
    const missedSoFar = () =>
      Number(
        client.text
          .match(/"missed":\d+/g)
          ?.at(-1)
          ?.slice('"missed":'.length),
      );
    await eventually('the whole anew', () => {
      viewer.send(frame);
      return missedSoFar() > sent / 2;
    });
    const after = client.text.lastIndexOf('"missed":');
    await eventually('frames as before', () => {
      viewer.send(frame);
      return client.text.includes('event: frame', after);
    });
  });

  test('that is asked to take the whole anew gets it at once', async () => {
    const { viewer, client } = await watch(http);
    viewer.sendWhole();
    await client.until(() => client.text.match(/event: tree/g)?.[1], 'a second tree');
    viewer.end();
    await client.until(() => (client.text.includes('\r\n0\r\n\r\n') ? true : undefined), 'the end');
  });
});
