// Server requests to clients (sampling, elicitation, roots), and notifications of shared servers. A question
// is sent only to the client that uses the connection on which it arrived.

import { beforeAll, describe, expect, test } from 'vitest';
import { type ConnectOptions, errorOf, eventually, McpClient } from '../../fixtures/clients/mcp-client.ts';
import { details, type Message, RawSession } from '../../fixtures/clients/raw-session.ts';
import {
  everythingOverHttp,
  everythingOverSse,
  everythingOverStdio,
  type RemoteEverything,
} from '../../fixtures/everything/start.ts';
import { type GatewayProcess, startGateway } from '../../fixtures/gateway/gateway-process.ts';

let gateway: GatewayProcess;
let remote: RemoteEverything;

beforeAll(async () => {
  remote = await everythingOverHttp();
  gateway = await startGateway({
    servers: {
      local: { ...everythingOverStdio(), isolation: 'session' },
      remote: { url: remote.url },
      older: { url: (await everythingOverSse()).url, runtime: 'sse' },
      'shared-remote': { url: remote.url, isolation: 'shared' },
      several: { ...everythingOverStdio(), pool: { max: 2 } },
      rooted: { ...everythingOverStdio(), isolation: 'session', forward_roots: true },
      rooted2: { url: remote.url, forward_roots: true },
      shared: everythingOverStdio(),
      other: everythingOverStdio({ name: 'other' }),
    },
  });
});

function at(id: string, options: ConnectOptions = {}): Promise<McpClient> {
  return McpClient.connect(`${gateway.url}/mcp${id === '' ? '' : `/${id}`}`, options);
}

/** Connects a client that answers all questions with its name, and records them. */
async function answering(id: string, name: string, more: ConnectOptions = {}) {
  const questions: unknown[] = [];
  const client = await at(id, {
    name,
    sample: (params) => {
      questions.push(params);
      const [message] = params.messages as { content: { text: string } }[];
      const content = { type: 'text', text: `${name} heard ${message?.content.text}` };
      return { model: 'm', role: 'assistant', content };
    },
    elicit: (params) => {
      questions.push(params);
      return { action: 'accept', content: { name: `${name} on ${String(params.message)}` } };
    },
    ...more,
  });
  return { client, asked: questions };
}

const sample = (name: string, text: string) => ({
  answer: { model: 'm', role: 'assistant', content: { type: 'text', text: `${name} heard ${text}` } },
});

describe.each(['local', 'remote', 'older'])('a server under session isolation (%s)', (id) => {
  test('can send sampling and elicitation requests to the client', async () => {
    const { client, asked } = await answering(id, 'ann');
    expect(await client.call('sample', { prompt: 'p1' })).toEqual(sample('ann', 'p1'));
    expect(asked[0]).toEqual({
      messages: [{ role: 'user', content: { type: 'text', text: 'p1' } }],
      maxTokens: 10,
      metadata: { 'x-vendor': [1] },
    });
    expect(await client.call('elicit', { message: 'm1' })).toEqual({
      answer: { action: 'accept', content: { name: 'ann on m1' } },
    });
  });

  test('gets the right answers if two sessions receive the same question with the same ids at the same time', async () => {
    const names = ['ann', 'bob', 'cy'];
    const everyone = await Promise.all(names.map((name) => answering(id, name)));
    await Promise.all(
      everyone.flatMap(({ client }, index) =>
        Array.from({ length: 15 }, async (_, n) => {
          const name = names[index] as string;
          if (n % 2 === 0) {
            expect(await client.call('sample', { prompt: `${name}${n}` })).toEqual(
              sample(name, `${name}${n}`),
            );
          } else {
            const { answer } = (await client.call('elicit', { message: `${name}${n}` })) as {
              answer: { content: unknown };
            };
            expect(answer.content).toEqual({ name: `${name} on ${name}${n}` });
          }
        }),
      ),
    );
    for (const { asked } of everyone) expect(asked).toHaveLength(15);
  });

  test('learns that the client declines, cancels, or fails with an error', async () => {
    const actions = ['decline', 'cancel'];
    const { client } = await answering(id, 'ann', {
      elicit: () => ({ action: actions.shift() }),
      sample: () => {
        throw Object.assign(new Error('not today'), { code: -1, data: { why: ['tired'] } });
      },
    });
    expect(await client.call('elicit')).toEqual({ answer: { action: 'decline' } });
    expect(await client.call('elicit')).toEqual({ answer: { action: 'cancel' } });
    expect(await client.call('sample')).toEqual({
      refused: { code: -1, message: expect.stringContaining('not today'), data: { why: ['tired'] } },
    });
  });

  test('receives the progress of its question to the client, with the progress token that it chose', async () => {
    const { client } = await answering(id, 'ann', {
      sample: async ({ _meta }, { sendNotification }) => {
        const { progressToken } = _meta as { progressToken: number };
        for (const progress of [1, 2])
          await sendNotification({ method: 'notifications/progress', params: { progressToken, progress } });
        // An SDK server loses progress that it reads together with the answer.
        await new Promise((resolve) => setTimeout(resolve, 50));
        return { model: 'm', role: 'assistant', content: { type: 'text', text: 'slowly' } };
      },
    });
    const answers = await Promise.all([1, 2, 3].map(() => client.call('sample', { isWatched: true })));
    for (const answer of answers) {
      const { progress } = answer as { progress: { progress: number }[] };
      const steps = progress.map((each) => each.progress);
      expect(steps).toEqual([1, 2]);
    }
  });

  test('can withdraw the question', async () => {
    const withdrawn: string[] = [];
    const { client } = await answering(id, 'ann', {
      elicit: async ({ message }, { signal }) => {
        await eventually('the withdrawal', () => signal.aborted);
        withdrawn.push(String(message));
        return { action: 'cancel' };
      },
    });
    const answers = await Promise.all(
      ['a', 'b'].map((message) => client.call('elicit', { message, timeout: 100 })),
    );
    for (const answer of answers) expect(answer).toMatchObject({ refused: { code: -32001 } });
    await eventually('both withdrawals', () => withdrawn.length === 2);
    expect(withdrawn.sort()).toEqual(['a', 'b']);
  });

  test('asks on the stream of the call if the client has no GET stream', async () => {
    const session = await RawSession.open(gateway.url, `/mcp/${id}`, { elicitation: {} });
    const onMessage = ({ method, id }: Message) => {
      if (method === 'elicitation/create')
        void session.reply(id, { action: 'accept', content: { name: 'raw' } });
    };
    const answer = await session.call('elicit', { message: 'no stream' }, { onMessage });
    expect(JSON.parse(answer.text)).toEqual({ answer: { action: 'accept', content: { name: 'raw' } } });
    expect(answer.messages).toHaveLength(2);
  });

  test('gets an immediate error for a question to a client with no open stream', async () => {
    const session = await RawSession.open(gateway.url, `/mcp/${id}`, { sampling: {} });
    await eventually('the refusal', async () => {
      // A question during a call would use the stream of that call, so no call may be in flight.
      await session.call('ask-later', { ms: 20 });
      await new Promise((resolve) => setTimeout(resolve, 150));
      const { notes } = JSON.parse((await session.call('stats')).text);
      return notes.includes('refused -32000');
    });
  });

  test('can ask the client a question after the call, on the GET stream of the client', async () => {
    const { client, asked } = await answering(id, 'ann');
    // A remote server's stream may open after the session. Earlier questions are lost at the server.
    await client.call('ask-later', { ms: 1500, method: 'elicitation/create' });
    await eventually('the late question', () => asked.length === 1);
    await eventually('its answer', async () =>
      (await client.stats()).notes.some((note) => note.startsWith('answer') && note.includes('ann on late')),
    );
  });

  test('receives client notifications, those about roots only if the catalog allows it', async () => {
    const { client } = await answering(id, 'ann', { roots: () => [{ uri: 'file:///secret' }] });
    expect((await client.stats()).clientCapabilities).toEqual({ sampling: {}, elicitation: { form: {} } });
    await client.client.notification({ method: 'notifications/x-vendor' } as never);
    await client.client.sendRootsListChanged();
    await client.client.notification({ method: 'notifications/x-last' } as never);
    const { notes } = await eventually('the notifications', async () => {
      const stats = await client.stats();
      return stats.notes.includes('notifications/x-last') && stats;
    });
    expect(notes).toEqual(['notifications/initialized', 'notifications/x-vendor', 'notifications/x-last']);
    expect(await client.call('list-roots')).toMatchObject({ refused: { code: -32601 } });
  });
});

describe.each(['rooted', 'rooted2'])('roots with forward_roots: true (%s)', (id) => {
  test('are listed, and changes are forwarded', async () => {
    let roots = [{ uri: 'file:///a', name: 'A' }];
    const { client } = await answering(id, 'ann', { roots: () => roots });
    expect((await client.stats()).clientCapabilities).toEqual({
      sampling: {},
      elicitation: { form: {} },
      roots: { listChanged: true },
    });
    expect(await client.call('list-roots')).toEqual({ answer: { roots } });
    roots = [{ uri: 'file:///b', name: 'B' }];
    await client.client.sendRootsListChanged();
    expect(await client.call('list-roots')).toEqual({ answer: { roots } });
    expect((await client.stats()).notes).toContain('notifications/roots/list_changed');
  });
});

describe('at /mcp', () => {
  test('several servers at once can ask the client whose session made the call', async () => {
    const everyone = await Promise.all(
      ['ann', 'bob'].map(async (name) => {
        const open: unknown[] = [];
        const { client } = await answering('', name, {
          sample: async ({ messages }) => {
            const text = (messages as { content: { text: string } }[])[0]?.content.text;
            open.push(text);
            // All are open in parallel, with ids that the servers chose independently.
            await eventually('the other questions', () => open.length === 6);
            const content = { type: 'text', text: `${name} heard ${text}` };
            return { model: 'm', role: 'assistant', content };
          },
        });
        return { client, asked: open };
      }),
    );
    await Promise.all(
      everyone.flatMap(({ client }, index) =>
        ['local', 'remote'].flatMap((server) =>
          [1, 2, 3].map(async (n) => {
            const text = `${server}${n}`;
            const answer = await client.call(`${server}__sample`, { prompt: text });
            expect(answer).toEqual(sample(['ann', 'bob'][index] as string, text));
          }),
        ),
      ),
    );
    for (const { asked } of everyone) expect(asked).toHaveLength(6);
  });
});

describe('a shared server', () => {
  test('that asks a question is rejected, during the call and after it, and no client receives it', async () => {
    const { client, asked } = await answering('shared', 'ann');
    const bob = await answering('shared', 'bob');
    expect(await client.call('sample')).toMatchObject({ refused: { code: -32601 } });
    expect(await client.call('elicit')).toMatchObject({ refused: { code: -32601 } });
    expect(await client.call('list-roots')).toMatchObject({ refused: { code: -32601 } });
    const before = (await client.stats()).notes.length;
    await client.call('ask-later', { ms: 10 });
    await eventually('the refusal', async () =>
      (await client.stats()).notes.slice(before).includes('refused -32601'),
    );
    expect([...asked, ...bob.asked]).toEqual([]);
  });

  test('receives no client notifications', async () => {
    const { client } = await answering('shared', 'ann', { roots: () => [] });
    await client.client.sendRootsListChanged();
    await client.client.notification({ method: 'notifications/x-vendor' } as never);
    expect((await client.stats()).notes.filter((note) => note.startsWith('notifications/'))).toEqual([
      'notifications/initialized',
    ]);
  });

  test('receives the lowest log level of all sessions; each session gets messages from its level upwards', async () => {
    const [ann, bob, cy] = await Promise.all([at('shared'), at('shared'), at('shared')]);
    await ann.client.setLoggingLevel('error');
    await bob.client.setLoggingLevel('info');
    await cy.client.setLoggingLevel('warning');
    const { level, levels } = await ann.stats();
    expect(level).toBe('info');
    expect(levels).toEqual(['error', 'info']);
    await cy.call('log-unbidden', { levels: ['debug', 'info', 'warning', 'error'], data: 'L' });
    const updatesOf = (client: McpClient) =>
      client.notes
        .filter(({ method }) => method === 'notifications/message')
        .map(({ params }) => params?.level);
    await eventually(
      'the logs',
      () => updatesOf(bob).length >= 3 && updatesOf(ann).length >= 1 && updatesOf(cy).length >= 2,
    );
    expect(updatesOf(ann)).toEqual(['error']);
    expect(updatesOf(bob)).toEqual(['info', 'warning', 'error']);
    expect(updatesOf(cy)).toEqual(['warning', 'error']);
    await bob.client.setLoggingLevel('critical');
    expect((await ann.stats()).level).toBe('warning');
    await cy.leave();
    await eventually('the level to rise', async () => (await ann.stats()).level === 'error');
  });

  test('that is remote sends log messages with a call, filtered by the log level of the session', async () => {
    const [ann, bob] = await Promise.all([at('shared-remote'), at('shared-remote')]);
    await ann.client.setLoggingLevel('error');
    await bob.client.setLoggingLevel('debug');
    for (const client of [ann, bob]) await client.call('log', { levels: ['debug', 'error'], data: 'call' });
    const levelsOf = (client: McpClient) => client.notes.map(({ params }) => params?.level);
    await eventually('the logs', () => levelsOf(bob).length >= 2 && levelsOf(ann).length >= 1);
    expect(levelsOf(ann)).toEqual(['error']);
    expect(levelsOf(bob)).toEqual(['debug', 'error']);
  });

  test('that sends an update during a call of any client reaches all subscribers', async () => {
    const [ann, bob] = await Promise.all([at('shared-remote'), at('shared-remote')]);
    const uri = 'test://watched-resource';
    await ann.client.subscribeResource({ uri });
    await bob.call('update', { uri, isOnCallStream: true });
    await eventually('the update', () => ann.count('notifications/resources/updated') === 1);
    expect(bob.count('notifications/resources/updated')).toBe(0);
  });

  test('with several processes applies the log level to all of them', async () => {
    const [ann, bob] = await Promise.all([at('several'), at('several')]);
    const busy = ann.call('slow', { steps: 1, ms: 400 });
    await bob.call('echo');
    await busy;
    expect((await ann.stats()).pid).not.toBe((await bob.stats()).pid);
    await ann.client.setLoggingLevel('error');
    await bob.client.setLoggingLevel('debug');
    for (const client of [ann, bob]) expect(await client.stats()).toMatchObject({ level: 'debug' });
    await bob.leave();
    await eventually('the level to rise', async () => (await ann.stats()).level === 'error');
  });

  test('has one subscription for many clients, of which only subscribers are notified, and none after the last unsubscribes', async () => {
    const [ann, bob, cy] = await Promise.all([at('shared'), at('shared'), at('shared')]);
    const uri = 'test://watched-resource';
    await Promise.all([ann.client.subscribeResource({ uri }), bob.client.subscribeResource({ uri })]);
    await cy.client.subscribeResource({ uri: 'test://static-text' });
    await cy.call('update', { uri });
    const updates = (client: McpClient) =>
      client.notes
        .filter(({ method }) => method === 'notifications/resources/updated')
        .map(({ params }) => params);
    await eventually('both updates', () => updates(ann).length > 0 && updates(bob).length > 0);
    await ann.client.unsubscribeResource({ uri });
    expect((await cy.stats()).subscribed).toContain(uri);
    await cy.call('update', { uri });
    await eventually('the second update', () => updates(bob).length === 2);
    await bob.leave();
    await eventually('the end of the subscription', async () => !(await cy.stats()).subscribed.includes(uri));
    expect((await cy.stats()).subscriptionLog.filter((line) => line === `-${uri}`)).toHaveLength(1);
    expect(updates(ann)).toEqual([{ uri }]);
    expect(updates(cy)).toEqual([]);
    expect((await cy.stats()).subscribed).toEqual(['test://static-text']);
    await cy.client.unsubscribeResource({ uri: 'test://static-text' });
    expect((await cy.stats()).subscribed).toEqual([]);
  });

  test('that crashes is restarted with the subscriptions of its clients', async () => {
    const [ann, bob] = await Promise.all([at('other'), at('other')]);
    const uri = 'other://own';
    await ann.client.setLoggingLevel('alert');
    await bob.client.subscribeResource({ uri });
    const { pid } = await ann.stats();
    await errorOf(ann.call('exit'));
    const state = async () => (await details(gateway.url, 'other')).pids;
    await eventually(
      'a new process',
      async () => (await state()).length === 1 && !(await state()).includes(pid),
    );
    expect(await ann.stats()).toMatchObject({ level: 'alert', subscribed: [uri] });
    await ann.call('update', { uri });
    await eventually('the update', () => bob.count('notifications/resources/updated') === 1);
    expect(ann.count('notifications/resources/updated')).toBe(0);
  });

  test('whose lists change causes one notification per burst in every session that sees the server', async () => {
    const [ann, bob, all, other] = await Promise.all([at('shared'), at('shared'), at(''), at('other')]);
    await all.client.listTools();
    // Recently cached lists may be announced, too.
    await eventually('quiet', async () => {
      const before = all.notes.length;
      await new Promise((resolve) => setTimeout(resolve, 200));
      return all.notes.length === before;
    });
    for (const client of [ann, bob, all, other]) client.notes.length = 0;
    await ann.call('touch', { name: 'fresh', times: 5 });
    const method = 'notifications/tools/list_changed';
    await eventually('the notices', () => [ann, bob, all].every((client) => client.count(method) > 0));
    expect((await all.client.listTools()).tools.map(({ name }) => name)).toContain('shared__fresh');
    expect((await bob.client.listTools()).tools.map(({ name }) => name)).toContain('fresh');
    expect(await bob.call('fresh')).toBe('I am fresh');
    // Other notices would have arrived before the second change.
    await ann.call('touch', { name: 'fresher' });
    await eventually('the second notices', () => [ann, bob, all].every((client) => client.count(method) > 1));
    for (const client of [ann, bob, all]) expect(client.methods()).toEqual([method, method]);
    expect(other.notes).toEqual([]);
  });
});

describe.each(['local', 'remote'])('lists of a server under session isolation (%s)', (id) => {
  test('are announced to that session once when they change', async () => {
    const ann = await at(id);
    const streams = () => remote.http.requests.filter(({ line }) => line === 'GET /mcp').length;
    const before = streams();
    await ann.call('echo');
    // A remote SDK server drops messages that it sends before the stream is open.
    if (id === 'remote') await eventually('its stream', () => streams() > before);
    await ann.call('touch', { name: `fresh-${id}`, times: 3 });
    const method = 'notifications/tools/list_changed';
    await eventually('the notice', () => ann.count(method) > 0);
    expect((await ann.client.listTools()).tools.map(({ name }) => name)).toContain(`fresh-${id}`);
    await ann.call('touch', { name: `fresher-${id}` });
    await eventually('the second notice', () => ann.count(method) > 1);
    expect(ann.methods()).toEqual([method, method]);
  });
});
