// An agent with a model, over its journal: the model, the tools and the people are in memory; the loop is the real one.

import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { HandlerError } from '../../../../../actors/agents/handlers/handler.ts';
import type { Parked } from '../../../../../actors/agents/handlers/parked.ts';
import type { ModelRequest } from '../../../../../actors/agents/models/model.ts';
import { ConnectionLostError, DeadlineError } from '../../../../../actors/base/errors/errors.ts';
import { RpcFault } from '../../../../../actors/mcp/jsonrpc/rpc-fault.ts';
import { AgentWorld, aFoundTool, aRuntime, says } from '../../../../fixtures/agents/agent-world.ts';
import { aJob } from '../../../../fixtures/automation/jobs.ts';

const read = aFoundTool('read_file', { isReadOnly: true, isIdempotent: true });
const write = aFoundTool('write_file');
const crash = () => {
  throw new Error('killed');
};

const lastResults = ({ messages }: ModelRequest) => {
  const last = messages.at(-1);
  return last?.role === 'tool' ? last.results : [];
};

/** Reads, then says what it has read. */
const reader = (request: ModelRequest) =>
  request.messages.some(({ role }) => role === 'tool')
    ? says(`It says: ${lastResults(request).map(({ text }) => text)}`)
    : says('Let me look.', [['read_file', { path: '/a' }]]);

describe('an agent with a model', () => {
  it('answers in words, with what it was asked and what was said before', async () => {
    const world = new AgentWorld({
      answer: () => says('All is well.'),
      job: aJob({ input: 'how is it?', event: { ...aJob().event, name: undefined } }),
      runtime: aRuntime({ servers: [] }),
    });
    expect(await world.attempt()).toMatchObject({ text: 'All is well.' });
    expect(world.asked).toMatchObject([
      {
        system: 'You look after the shop.',
        messages: [
          { role: 'user', text: 'before' },
          { role: 'user', text: 'how is it?' },
        ],
        tools: [],
      },
    ]);
    expect(world.rows.map(({ kind }) => kind)).toEqual(['begun', 'answer', 'ended']);
    expect([world.opened, world.released]).toEqual([1, 1]);
  });

  it('is told what an event is about and came with, where nobody wrote anything', async () => {
    const world = new AgentWorld({ answer: () => says('ok'), runtime: aRuntime({ servers: [] }) });
    await world.attempt();
    const text = world.asked[0]?.messages.at(-1);
    expect(text).toEqual({
      role: 'user',
      text: 'Event: pull_request.opened (RepoHost)\nrepo.pr.number: 7\nrepo.repo: acme/site\n\nplease review',
    });
  });

  it('calls the tools that its model wants, and goes on with what they gave', async () => {
    const world = new AgentWorld({ answer: reader, tools: [read, write] });
    const reply = await world.attempt();
    expect(reply).toMatchObject({ text: 'It says: read_file done' });
    expect(world.asked[0]?.tools.map(({ name }) => name)).toEqual(['read_file', 'write_file']);
    expect(world.rows.map(({ kind }) => kind)).toEqual([
      'begun',
      'answer',
      'called',
      'result',
      'answer',
      'ended',
    ]);
    expect(world.note).toMatchObject({ kind: 'agent', name: 'reviewer' });
    expect(JSON.parse(world.note?.figures ?? '')).toMatchObject({
      model: 'local:one',
      iterations: 2,
      tool_calls: 1,
      input_tokens: 20,
      output_tokens: 4,
    });
    expect(world.shown).toContain('_Using files/read_file…_');
  });

  it('gives each call a key of its own, which another run of the event has not', async () => {
    const twice = (request: ModelRequest) =>
      request.messages.some(({ role }) => role === 'tool')
        ? says('done')
        : says('', [
            ['write_file', { n: 1 }],
            ['write_file', { n: 2 }],
          ]);
    const [one, other] = [0, 1].map(() => new AgentWorld({ answer: twice, tools: [write] }));
    await one?.attempt();
    await other?.attempt();
    const keys = [one, other].flatMap((world) => world?.made.map(({ key }) => key) ?? []);
    expect(new Set(keys).size).toBe(4);
    expect(keys[0]).toMatch(/^repohost:reviews\/d-1\/[\w-]{12}\/call_1_0$/);
  });

  it('asks its model once for each step, and makes no call with effects twice, wherever it ends (AR2, MK1)', async () => {
    const answer = (request: ModelRequest) => {
      const results = request.messages.filter(({ role }) => role === 'tool').length;
      if (results === 0)
        return says('', [
          ['read_file', {}],
          ['write_file', { n: 1 }],
        ]);
      return results === 1 ? says('', [['write_file', { n: 2 }]]) : says('done');
    };
    const whole = new AgentWorld({ answer, tools: [read, write] });
    await whole.attempt();
    expect(whole.commits).toBeGreaterThan(5);
    for (let end = 1; end <= whole.commits; end += 1) {
      const world = new AgentWorld({
        answer,
        tools: [read, write],
        onCommit: (n) => (n === end ? crash() : undefined),
      });
      await expect(world.attempt()).rejects.toThrow('killed');
      expect(await world.attempt()).toMatchObject({ text: 'done' });
      const written = world.made.filter(({ tool }) => tool === 'write_file').map(({ key }) => key);
      expect(new Set(written).size).toBe(written.length);
      expect(world.ofKind('answer').map(({ iteration }) => iteration)).toEqual([1, 2, 3]);
      expect(world.ofKind('ended')).toHaveLength(1);
    }
  });

  it('tells the model of a call that may have happened, and repeats one that does no harm under its key', async () => {
    const answer = (request: ModelRequest) =>
      lastResults(request).length > 0
        ? says(
            lastResults(request)
              .map(({ text }) => text)
              .join(' | '),
          )
        : says('', [
            ['read_file', {}],
            ['write_file', {}],
          ]);
    const world = new AgentWorld({
      answer,
      tools: [read, write],
      // The results of the first attempt are lost.
      onCommit: (n) => (n === 3 ? crash() : undefined),
    });
    await expect(world.attempt()).rejects.toThrow('killed');
    const reply = await world.attempt();
    expect(reply).toMatchObject({ text: expect.stringContaining('The call may have happened') });
    const keys = world.made.filter(({ tool }) => tool === 'read_file').map(({ key }) => key);
    expect(keys).toHaveLength(2);
    expect(new Set(keys).size).toBe(1);
    expect(world.made.filter(({ tool }) => tool === 'write_file')).toHaveLength(1);
  });

  it('tells the model what went wrong with a tool, and lets it go on', async () => {
    const errors = new Map<string, () => Promise<never>>([
      ['a', () => Promise.reject(new RpcFault(-32602, 'path is missing'))],
      ['b', () => Promise.reject(new ConnectionLostError('the connection ended'))],
      ['c', () => Promise.reject(new DeadlineError('late'))],
      ['e', () => Promise.reject(new RpcFault(-32000, 'y'.repeat(2_000_000)))],
    ]);
    const world = new AgentWorld({
      answer: (request) =>
        lastResults(request).length > 0
          ? says('understood')
          : says('', [
              ['a', {}],
              ['b', {}],
              ['c', {}],
              ['d', {}],
              ['nothing', {}],
              ['e', {}],
            ]),
      tools: ['a', 'b', 'c', 'd', 'e'].map((name) => aFoundTool(name)),
      call: (tool) => errors.get(tool)?.() ?? Promise.resolve({ text: 'no such file', isError: true }),
    });
    expect(await world.attempt()).toMatchObject({ text: 'understood' });
    const results = new Map(world.ofKind('result').map((row) => [row.id, row]));
    expect([0, 1, 2, 3, 4, 5].map((n) => results.get(`call_1_${n}`)?.how)).toEqual([
      ...['called', 'interrupted', 'interrupted', 'called', 'refused', 'called'],
    ]);
    expect(world.asked[1]?.messages.at(-1)).toMatchObject({
      role: 'tool',
      results: [
        { text: 'The call failed: path is missing', isError: true },
        { text: expect.stringContaining('the connection ended. The call may have happened'), isError: true },
        { text: expect.stringContaining('no answer within'), isError: true },
        { text: 'no such file', isError: true },
        { text: expect.stringContaining('there is no tool "nothing"'), isError: true },
        { text: expect.stringMatching(/^The call failed: y+\n\(cut here/), isError: true },
      ],
    });
  });

  it('keeps what is known when another call hangs until the attempt ends (MK2)', async () => {
    const end = new AbortController();
    const world = new AgentWorld({
      answer: (request) =>
        lastResults(request).length > 0
          ? says('done')
          : says('', [
              ['read_file', {}],
              ['write_file', {}],
            ]),
      tools: [read, write],
      call: (tool) =>
        tool === 'read_file' ? Promise.resolve({ text: 'read', isError: false }) : new Promise(() => {}),
    });
    setTimeout(() => end.abort(new DeadlineError('over')), 50);
    await expect(world.attempt({ signal: end.signal })).rejects.toThrow('over');
    expect(world.ofKind('result')).toMatchObject([{ id: 'call_1_0', text: 'read' }]);
    expect(await world.attempt()).toMatchObject({ text: 'done' });
    expect(world.made.map(({ tool }) => tool)).toEqual(['read_file', 'write_file']);
  });

  it('begins no call before it has its turn, so that a stop leaves only those in doubt that were made (MK1)', async () => {
    const end = new AbortController();
    const calls = Array.from({ length: 12 }, (_, n) => ['write_file', { n }] as const);
    let isStopped = false;
    const world = new AgentWorld({
      answer: (request) => (lastResults(request).length > 0 ? says('done') : says('', calls)),
      tools: [write],
      call: (_tool, _args, { signal }) =>
        isStopped
          ? Promise.resolve({ text: 'written', isError: false })
          : new Promise(() => {
              for (let n = 0; n < 2; n++) signal.addEventListener('abort', () => {});
            }),
    });
    const warnings: Error[] = [];
    const onWarning = (warning: Error) => warnings.push(warning);
    process.on('warning', onWarning);
    setTimeout(() => end.abort(new DeadlineError('over')), 20);
    await expect(world.attempt({ signal: end.signal })).rejects.toThrow('over');
    process.off('warning', onWarning);
    expect(warnings).toEqual([]);
    expect([world.made.length, world.ofKind('called').length]).toEqual([8, 8]);
    isStopped = true;
    expect(await world.attempt()).toMatchObject({ text: 'done' });
    expect(world.made).toHaveLength(12);
    const told = lastResults(world.asked.at(-1) as ModelRequest).map(({ text }) => text);
    expect(told.slice(0, 8).every((text) => text.includes('may have happened'))).toBe(true);
    expect(told.slice(8)).toEqual(Array(4).fill('written'));
  });

  it('ends only when none of its calls is under way, where its journal cannot be written', async () => {
    let underWay = 0;
    const calls = Array.from({ length: 10 }, (_, n) => ['write_file', { n }] as const);
    const world = new AgentWorld({
      answer: () => says('', calls),
      tools: [write],
      call: async () => {
        underWay += 1;
        await sleep(underWay * 3);
        underWay -= 1;
        return { text: 'written', isError: false };
      },
      onCommit: (n) => {
        if (n > 2) throw new Error('the disk is full');
      },
    });
    await expect(world.attempt()).rejects.toThrow('the disk is full');
    expect([underWay, world.made.length]).toEqual([0, 8]);
  });

  it('goes on with the definition that it began with, whatever its file says by now (AR1)', async () => {
    const [old, now] = ['old', 'new'].map((system_prompt) =>
      aRuntime({ system_prompt, definition: system_prompt, servers: [] }),
    );
    const begun = {
      kind: 'begun',
      agent: 'reviewer',
      nonce: 'n',
      definition: 'old',
      messages: [],
      tools: [],
    };
    const world = new AgentWorld({
      answer: () => says('ok'),
      runtime: now ?? aRuntime(),
      readDefinition: (text) => (text === 'old' ? (old ?? aRuntime()) : crash()),
    });
    world.steps.push(JSON.stringify(begun));
    await world.attempt();
    expect(world.asked.map(({ system }) => system)).toEqual(['old']);
  });

  it('fails for good when its own bounds are reached, and says which (AR3)', async () => {
    const again = () => says('', [['read_file', {}]]);
    const failed = async (
      more: Parameters<typeof aRuntime>[0],
      answer: () => ReturnType<typeof says> = again,
    ) => {
      const world = new AgentWorld({ answer, tools: [read], runtime: aRuntime(more) });
      const error = await world.attempt().catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(HandlerError);
      expect((error as HandlerError).isFinal).toBe(true);
      return { message: (error as HandlerError).message, world };
    };
    const none = { tokens: undefined, tool_calls: undefined, cost: undefined };
    expect((await failed({ max_iterations: 3 })).message).toContain('max_iterations (3)');
    expect((await failed({ budget: { ...none, tokens: 30 } })).message).toContain('budget.tokens (30)');
    const calls = await failed({ budget: { ...none, tool_calls: 2 } });
    expect(calls.message).toContain('budget.tool_calls (2)');
    expect(calls.world.made).toHaveLength(2);
    const usage = { input: undefined, output: 2, cached: undefined };
    const uncounted = () => says('', [['read_file', {}]], { usage });
    const tokens = await failed({ budget: { ...none, tokens: 30 } }, uncounted);
    expect(tokens.message).toContain('budget.tokens cannot be held: local:one has not said how many it used');
    const cost = await failed({ budget: { ...none, cost: 30 } }, uncounted);
    expect(cost.message).toContain('budget.cost cannot be held: what local:one has used is not known');
    for (const { world } of [tokens, cost]) expect([world.asked.length, world.made.length]).toEqual([1, 0]);
    const unfit = await failed({ output_schema: { type: 'object' } }, () => says('no JSON'));
    expect(unfit.message).toContain('does not fit output_schema: it is no JSON');
    expect(unfit.world.asked).toHaveLength(3);
  });

  it('fails for good when it has worked for as long as it may, over all attempts', async () => {
    const world = new AgentWorld({
      answer: (_request, _n, { signal }) => sleep(10_000, says('late'), { signal }),
      runtime: aRuntime({ timeout_seconds: 3, servers: [] }),
    });
    const end = AbortSignal.timeout(150);
    await expect(world.attempt({ signal: end })).rejects.not.toBeInstanceOf(HandlerError);
    world.state = JSON.stringify({ worked_ms: 2_900 });
    const startedAt = performance.now();
    await expect(world.attempt()).rejects.toMatchObject({
      isFinal: true,
      message: expect.stringContaining('timeout_seconds (3)'),
    });
    expect(performance.now() - startedAt).toBeLessThan(2_900);
  });

  it('fails to be tried again while its tools cannot be listed, and its time begins when they are', async () => {
    let given = 0;
    const world = new AgentWorld({
      answer: () => says('Here.'),
      runtime: aRuntime({ timeout_seconds: 0.2 }),
      list: async (timeoutMs) => {
        given = timeoutMs;
        await sleep(world.opened === 1 ? timeoutMs : 250);
        if (world.opened === 1) throw new DeadlineError('tools/list at server reviewer/files took too long');
        return [read];
      },
    });
    await expect(world.attempt()).rejects.toMatchObject({
      isFinal: false,
      message: expect.stringContaining('cannot list its tools: tools/list at server reviewer/files'),
    });
    expect(given).toBeLessThan(200);
    expect(await world.attempt()).toMatchObject({ text: 'Here.' });
  });

  it('may call nothing in the last answer that it may have (PN5)', async () => {
    const world = new AgentWorld({
      answer: reader,
      tools: [read],
      runtime: aRuntime({ max_iterations: 2 }),
    });
    expect(await world.attempt()).toMatchObject({ text: 'It says: read_file done' });
    expect(world.asked.map(({ mayCall }) => mayCall)).toEqual([true, false]);
  });

  it('has its whole time for work, however long it waits for the disk (JL2)', async () => {
    const states: (string | null | undefined)[] = [];
    const world = new AgentWorld({
      answer: reader,
      tools: [read],
      runtime: aRuntime({ timeout_seconds: 0.3 }),
    });
    const reply = await world.attempt({
      checkpoint: async (state) => {
        states.push(state);
        await sleep(250);
      },
    });
    expect(reply).toMatchObject({ text: 'It says: read_file done' });
    expect(states).toHaveLength(4);
    for (const state of states) expect(JSON.parse(state ?? '').worked_ms).toBeLessThan(200);
  });

  it('ends for good with what is too large to be kept, and says what that is (JL3)', async () => {
    const long = new AgentWorld({ answer: () => says('x'.repeat(1_000_000)) });
    await expect(long.attempt()).rejects.toMatchObject({
      isFinal: true,
      message: expect.stringContaining('an answer of local:one is too large to be kept'),
    });
    const many = Array.from({ length: 1_025 }, () => ['read_file', {}] as const);
    const calling = new AgentWorld({ answer: () => says('', many), tools: [read] });
    await expect(calling.attempt()).rejects.toMatchObject({
      isFinal: true,
      message: 'agent reviewer: an answer of local:one calls 1025 tools, and at most 1024 calls are read',
    });
    const tools = Array.from({ length: 10 }, (_, n) => ({
      ...aFoundTool(`t${n}`),
      description: '\0'.repeat(20_000),
    }));
    const beginning = new AgentWorld({ answer: () => says('ok'), tools });
    await expect(beginning.attempt()).rejects.toMatchObject({
      isFinal: true,
      message: expect.stringContaining('what a run begins with'),
    });
    expect([beginning.asked, beginning.rows]).toEqual([[], []]);
  });

  it('gives an object that has room in its journal only once', async () => {
    const object = { list: 'x'.repeat(600_000) };
    const world = new AgentWorld({
      answer: () => says(JSON.stringify(object)),
      runtime: aRuntime({ servers: [], output_schema: { type: 'object' } }),
    });
    expect(await world.attempt()).toMatchObject({ text: JSON.stringify(object), data: object });
    expect(world.ofKind('ended')).toEqual([{ kind: 'ended', text: JSON.stringify(object) }]);
  });

  it('tells the model of what is nested too deeply, in arguments and in an answer', async () => {
    const deep = `{"a":${'['.repeat(50_000)}${']'.repeat(50_000)}}`;
    const world = new AgentWorld({
      tools: [write],
      answer: (_, n) =>
        n === 1
          ? says('', [], { calls: [{ id: 'c', name: 'write_file', input: deep }], finish: 'calls' })
          : says(n === 2 ? deep : '{"a":1}'),
      runtime: aRuntime({ output_schema: { type: 'object', properties: { a: { enum: [1] } } } }),
    });
    expect(await world.attempt()).toMatchObject({ data: { a: 1 } });
    expect(world.made).toEqual([]);
    expect(lastResults(world.asked[1] as ModelRequest)).toMatchObject([
      { text: expect.stringContaining('nested more than 128 levels deep') },
    ]);
    expect(world.asked[2]?.messages.at(-1)).toMatchObject({
      text: expect.stringContaining('nested more than 128 levels deep'),
    });
  });

  it('gives the object that its answer is, where it has to fit a schema', async () => {
    const answers = ['severity: low', '{"severity":"none"}', '```json\n{"severity":"low"}\n```'];
    const world = new AgentWorld({
      answer: (_request, n) => says(answers[n - 1] ?? ''),
      runtime: aRuntime({
        servers: [],
        output_schema: { type: 'object', properties: { severity: { enum: ['low', 'high'] } } },
      }),
    });
    expect(await world.attempt()).toMatchObject({ text: '{"severity":"low"}', data: { severity: 'low' } });
    expect(world.asked[2]?.messages.at(-1)).toMatchObject({
      role: 'user',
      text: expect.stringContaining('severity must be one of "low", "high"'),
    });
  });
});

describe('a call that has to be approved', () => {
  const policy = { ...aRuntime().policy, ask: ['write_*'] };
  const answer = (request: ModelRequest) =>
    lastResults(request).length > 0
      ? says(
          lastResults(request)
            .map(({ text }) => text)
            .join(' | '),
        )
      : says('', [
          ['read_file', {}],
          ['write_file', { path: '/a' }],
        ]);
  const asking = () => new AgentWorld({ answer, tools: [read, write], runtime: aRuntime({ policy }) });

  it('waits for people, while those that need nobody are made', async () => {
    const world = asking();
    const parked = (await world.attempt()) as Parked;
    expect(parked).toMatchObject({ parkedOn: 'approval repohost:reviews/d-1', wakeInMs: 3_600_000 });
    expect(parked.effects?.asks).toMatchObject([{ id: 'approval-1' }]);
    expect(world.made.map(({ tool }) => tool)).toEqual(['read_file']);
    expect(world.requests).toMatchObject([
      { kind: 'tool', title: 'files/write_file', tool: { arguments: { path: '/a' } } },
    ]);
    expect(world.rows.at(-1)).toEqual({ kind: 'asked', approval: 'approval-1', call: 'call_1_1' });
  });

  it('is made once it is approved, with exactly what was asked about', async () => {
    const world = asking();
    await world.attempt();
    expect(await world.attempt()).toMatchObject({ parkedOn: 'approval repohost:reviews/d-1' });
    world.decide('approval-1', 'approved');
    expect(await world.attempt()).toMatchObject({ text: 'read_file done | write_file done' });
    expect(world.made.at(-1)).toMatchObject({ tool: 'write_file', args: { path: '/a' } });
    expect(world.asked).toHaveLength(2);
  });

  it('is asked about anew when what was approved is something else', async () => {
    const world = asking();
    await world.attempt();
    world.decide('approval-1', 'approved', undefined, 'of something else');
    expect(await world.attempt()).toMatchObject({ parkedOn: 'approval repohost:reviews/d-1' });
    expect(world.made.map(({ tool }) => tool)).toEqual(['read_file']);
    world.decide('approval-2', 'approved');
    await world.attempt();
    expect(world.made.at(-1)).toMatchObject({ tool: 'write_file', args: { path: '/a' } });
  });

  it('is not made when it is denied: the model is told so, with what was said', async () => {
    const world = asking();
    await world.attempt();
    world.decide('approval-1', 'denied', 'not today');
    expect(await world.attempt()).toMatchObject({
      text: expect.stringContaining('denied by ada: not today'),
    });
    expect(world.made.map(({ tool }) => tool)).toEqual(['read_file']);
  });

  it('is not made when nobody decides, or nobody can', async () => {
    const late = asking();
    await late.attempt();
    late.decide('approval-1', 'expired');
    expect(await late.attempt()).toMatchObject({
      text: expect.stringContaining('nobody has decided in time'),
    });
    const alone = new AgentWorld({
      answer,
      tools: [read, write],
      runtime: aRuntime({ policy }),
      hasPeople: false,
    });
    expect(await alone.attempt()).toMatchObject({ text: expect.stringContaining('nobody can be asked') });
    expect([...late.made, ...alone.made].filter(({ tool }) => tool === 'write_file')).toEqual([]);
  });

  it('is not even known to the model where the policy denies it', async () => {
    const denying = aRuntime({ policy: { ...policy, deny: ['files/write_*', 'destructive'] } });
    const tools = [read, write, aFoundTool('drop', { isDestructive: true })];
    const world = new AgentWorld({ answer, tools, runtime: denying });
    expect(await world.attempt()).toMatchObject({
      text: expect.stringContaining('there is no tool "write_file"'),
    });
    expect(world.asked[0]?.tools.map(({ name }) => name)).toEqual(['read_file']);
  });
});
