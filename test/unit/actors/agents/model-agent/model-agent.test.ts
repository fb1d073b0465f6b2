// The loop of model agents, with a journal. Model, tools and approvers are simulated.

import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { HandlerError } from '../../../../../actors/agents/handlers/handler.ts';
import type { Parked } from '../../../../../actors/agents/handlers/parked.ts';
import type { ModelRequest } from '../../../../../actors/agents/models/model.ts';
import { ConnectionLostError, DeadlineError } from '../../../../../actors/base/errors/errors.ts';
import { RpcFault } from '../../../../../actors/mcp/jsonrpc/rpc-fault.ts';
import { AgentWorld, aFoundTool, aRuntime, modelAnswer } from '../../../../fixtures/agents/agent-world.ts';
import { aJob } from '../../../../fixtures/automation/jobs.ts';

const readFile = aFoundTool('read_file', { isReadOnly: true, isIdempotent: true });
const write = aFoundTool('write_file');
const crash = () => {
  throw new Error('killed');
};

const lastResults = ({ messages }: ModelRequest) => {
  const last = messages.at(-1);
  return last?.role === 'tool' ? last.results : [];
};

/** Model that calls a tool, then replies with the result. */
const reader = (request: ModelRequest) =>
  request.messages.some(({ role }) => role === 'tool')
    ? modelAnswer(`It says: ${lastResults(request).map(({ text }) => text)}`)
    : modelAnswer('Let me look.', [['read_file', { path: '/a' }]]);

describe('a model agent', () => {
  it('replies with text, given the input and the history', async () => {
    const world = new AgentWorld({
      answer: () => modelAnswer('All is well.'),
      job: aJob({ input: 'how is it?', event: { ...aJob().event, name: undefined } }),
      runtime: aRuntime({ servers: [] }),
    });
    expect(await world.attempt()).toMatchObject({ text: 'All is well.' });
    expect(world.modelRequests).toMatchObject([
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

  it('receives the sender of each message, also of the history', async () => {
    const [ada, ben] = ['Ada', 'Ben'].map((name) => ({ sender: { name }, chat: { name: 'Ops' } }));
    const world = new AgentWorld({
      answer: () => modelAnswer('ok'),
      job: aJob({
        input: 'Friday',
        event: { ...aJob().event, name: undefined },
        message: ben,
        history: [
          { role: 'user', text: 'Monday', message: ada },
          { role: 'assistant', text: 'noted' },
        ],
      }),
      runtime: aRuntime({ servers: [] }),
    });
    await world.attempt();
    expect(world.modelRequests[0]?.messages).toMatchObject([
      { text: 'From: {"name":"Ada"}\nChat: {"name":"Ops"}\nText:\n| Monday' },
      { text: 'noted' },
      { text: 'From: {"name":"Ben"}\nChat: {"name":"Ops"}\nText:\n| Friday' },
    ]);
  });

  it('receives a description of the event if the event has no text', async () => {
    const world = new AgentWorld({ answer: () => modelAnswer('ok'), runtime: aRuntime({ servers: [] }) });
    await world.attempt();
    const text = world.modelRequests[0]?.messages.at(-1);
    expect(text).toEqual({
      role: 'user',
      text: 'Event: pull_request.opened (RepoHost)\nrepo.pr.number: 7\nrepo.repo: acme/site\nText:\n| please review',
    });
  });

  it('calls the requested tools and continues with their results', async () => {
    const world = new AgentWorld({ answer: reader, tools: [readFile, write] });
    const reply = await world.attempt();
    expect(reply).toMatchObject({ text: 'It says: read_file done' });
    expect(world.modelRequests[0]?.tools.map(({ name }) => name)).toEqual(['read_file', 'write_file']);
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

  it('gives each call a unique key, also across runs of the same event', async () => {
    const twice = (request: ModelRequest) =>
      request.messages.some(({ role }) => role === 'tool')
        ? modelAnswer('done')
        : modelAnswer('', [
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

  it('requests each model step once and repeats no call with effects, wherever it crashes', async () => {
    const answer = (request: ModelRequest) => {
      const results = request.messages.filter(({ role }) => role === 'tool').length;
      if (results === 0)
        return modelAnswer('', [
          ['read_file', {}],
          ['write_file', { n: 1 }],
        ]);
      return results === 1 ? modelAnswer('', [['write_file', { n: 2 }]]) : modelAnswer('done');
    };
    const whole = new AgentWorld({ answer, tools: [readFile, write] });
    await whole.attempt();
    expect(whole.commits).toBeGreaterThan(5);
    for (let end = 1; end <= whole.commits; end += 1) {
      const world = new AgentWorld({
        answer,
        tools: [readFile, write],
        onCommit: (n) => (n === end ? crash() : undefined),
      });
      await expect(world.attempt()).rejects.toThrow('killed');
      expect(await world.attempt()).toMatchObject({ text: 'done' });
      const writeKeys = world.made.filter(({ tool }) => tool === 'write_file').map(({ key }) => key);
      expect(new Set(writeKeys).size).toBe(writeKeys.length);
      expect(world.ofKind('answer').map(({ iteration }) => iteration)).toEqual([1, 2, 3]);
      expect(world.ofKind('ended')).toHaveLength(1);
    }
  });

  it('reports an interrupted call to the model, and repeats an idempotent call with the same key', async () => {
    const answer = (request: ModelRequest) =>
      lastResults(request).length > 0
        ? modelAnswer(
            lastResults(request)
              .map(({ text }) => text)
              .join(' | '),
          )
        : modelAnswer('', [
            ['read_file', {}],
            ['write_file', {}],
          ]);
    const world = new AgentWorld({
      answer,
      tools: [readFile, write],
      // The first attempt crashes before the results are stored.
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

  it('reports tool errors to the model and continues', async () => {
    const errors = new Map<string, () => Promise<never>>([
      ['a', () => Promise.reject(new RpcFault(-32602, 'path is missing'))],
      ['b', () => Promise.reject(new ConnectionLostError('the connection ended'))],
      ['c', () => Promise.reject(new DeadlineError('late'))],
      ['e', () => Promise.reject(new RpcFault(-32000, 'y'.repeat(2_000_000)))],
    ]);
    const world = new AgentWorld({
      answer: (request) =>
        lastResults(request).length > 0
          ? modelAnswer('understood')
          : modelAnswer('', [
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
    expect(world.modelRequests[1]?.messages.at(-1)).toMatchObject({
      role: 'tool',
      results: [
        { text: 'The call failed: path is missing', isError: true },
        { text: expect.stringContaining('the connection ended. The call may have happened'), isError: true },
        { text: expect.stringContaining('no answer within'), isError: true },
        { text: 'no such file', isError: true },
        { text: expect.stringContaining('unknown tool "nothing"'), isError: true },
        { text: expect.stringMatching(/^The call failed: y+\n\(truncated/), isError: true },
      ],
    });
  });

  it('keeps the results of finished calls if another call hangs until the attempt is aborted', async () => {
    const end = new AbortController();
    const world = new AgentWorld({
      answer: (request) =>
        lastResults(request).length > 0
          ? modelAnswer('done')
          : modelAnswer('', [
              ['read_file', {}],
              ['write_file', {}],
            ]),
      tools: [readFile, write],
      call: (tool) =>
        tool === 'read_file' ? Promise.resolve({ text: 'read', isError: false }) : new Promise(() => {}),
    });
    setTimeout(() => end.abort(new DeadlineError('over')), 50);
    await expect(world.attempt({ signal: end.signal })).rejects.toThrow('over');
    expect(world.ofKind('result')).toMatchObject([{ id: 'call_1_0', text: 'read' }]);
    expect(await world.attempt()).toMatchObject({ text: 'done' });
    expect(world.made.map(({ tool }) => tool)).toEqual(['read_file', 'write_file']);
  });

  it('records a call only when it starts, so that only started calls have an unknown outcome after a stop', async () => {
    const end = new AbortController();
    const calls = Array.from({ length: 12 }, (_, n) => ['write_file', { n }] as const);
    let isStopped = false;
    const world = new AgentWorld({
      answer: (request) => (lastResults(request).length > 0 ? modelAnswer('done') : modelAnswer('', calls)),
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
    const resultTexts = lastResults(world.modelRequests.at(-1) as ModelRequest).map(({ text }) => text);
    expect(resultTexts.slice(0, 8).every((text) => text.includes('may have happened'))).toBe(true);
    expect(resultTexts.slice(8)).toEqual(Array(4).fill('written'));
  });

  it('waits for all of its running calls if the journal cannot be written', async () => {
    let callsInProgress = 0;
    const calls = Array.from({ length: 10 }, (_, n) => ['write_file', { n }] as const);
    const world = new AgentWorld({
      answer: () => modelAnswer('', calls),
      tools: [write],
      call: async () => {
        callsInProgress += 1;
        await sleep(callsInProgress * 3);
        callsInProgress -= 1;
        return { text: 'written', isError: false };
      },
      onCommit: (n) => {
        if (n > 2) throw new Error('the disk is full');
      },
    });
    await expect(world.attempt()).rejects.toThrow('the disk is full');
    expect([callsInProgress, world.made.length]).toEqual([0, 8]);
  });

  it('continues with the definition that it started with, even if its file has changed', async () => {
    const [old, now] = ['old', 'new'].map((system_prompt) =>
      aRuntime({ system_prompt, definition: system_prompt, servers: [] }),
    );
    const startedRun = {
      kind: 'begun',
      agent: 'reviewer',
      nonce: 'n',
      definition: 'old',
      messages: [],
      tools: [],
    };
    const world = new AgentWorld({
      answer: () => modelAnswer('ok'),
      runtime: now ?? aRuntime(),
      readDefinition: (text) => (text === 'old' ? (old ?? aRuntime()) : crash()),
    });
    world.steps.push(JSON.stringify(startedRun));
    await world.attempt();
    expect(world.modelRequests.map(({ system }) => system)).toEqual(['old']);
  });

  it('fails without a retry when one of its limits is reached, and names the limit', async () => {
    const again = () => modelAnswer('', [['read_file', {}]]);
    const failed = async (
      more: Parameters<typeof aRuntime>[0],
      answer: () => ReturnType<typeof modelAnswer> = again,
    ) => {
      const world = new AgentWorld({ answer, tools: [readFile], runtime: aRuntime(more) });
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
    const answerWithUsage = () => modelAnswer('', [['read_file', {}]], { usage });
    const tokens = await failed({ budget: { ...none, tokens: 30 } }, answerWithUsage);
    expect(tokens.message).toContain(
      'budget.tokens cannot be enforced: local:one did not report token usage',
    );
    const cost = await failed({ budget: { ...none, cost: 30 } }, answerWithUsage);
    expect(cost.message).toContain('budget.cost cannot be enforced: the usage of local:one is unknown');
    for (const { world } of [tokens, cost])
      expect([world.modelRequests.length, world.made.length]).toEqual([1, 0]);
    const unfit = await failed({ output_schema: { type: 'object' } }, () => modelAnswer('no JSON'));
    expect(unfit.message).toContain('does not match output_schema: it is not JSON');
    expect(unfit.world.modelRequests).toHaveLength(3);
  });

  it('fails without a retry when its working time over all attempts exceeds the limit', async () => {
    const world = new AgentWorld({
      answer: (_request, _n, { signal }) => sleep(10_000, modelAnswer('late'), { signal }),
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

  it('can be retried if its tools cannot be listed, and its time limit starts only after the listing', async () => {
    let answerCount = 0;
    const world = new AgentWorld({
      answer: () => modelAnswer('Here.'),
      runtime: aRuntime({ timeout_seconds: 0.2 }),
      list: async (timeoutMs) => {
        answerCount = timeoutMs;
        await sleep(world.opened === 1 ? timeoutMs : 250);
        if (world.opened === 1) throw new DeadlineError('tools/list at server reviewer/files took too long');
        return [readFile];
      },
    });
    await expect(world.attempt()).rejects.toMatchObject({
      isFinal: false,
      message: expect.stringContaining('cannot list its tools: tools/list at server reviewer/files'),
    });
    expect(answerCount).toBeLessThan(200);
    expect(await world.attempt()).toMatchObject({ text: 'Here.' });
  });

  it('has no tools in the last allowed iteration', async () => {
    const world = new AgentWorld({
      answer: reader,
      tools: [readFile],
      runtime: aRuntime({ max_iterations: 2 }),
    });
    expect(await world.attempt()).toMatchObject({ text: 'It says: read_file done' });
    expect(world.modelRequests.map(({ mayCall }) => mayCall)).toEqual([true, false]);
  });

  it('does not count waits for the disk as working time', async () => {
    const states: (string | null | undefined)[] = [];
    const world = new AgentWorld({
      answer: reader,
      tools: [readFile],
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

  it('fails without a retry if a step is too large for the journal, and names the step', async () => {
    const long = new AgentWorld({ answer: () => modelAnswer('x'.repeat(1_000_000)) });
    await expect(long.attempt()).rejects.toMatchObject({
      isFinal: true,
      message: expect.stringContaining('an answer of local:one is too large'),
    });
    const many = Array.from({ length: 1_025 }, () => ['read_file', {}] as const);
    const calling = new AgentWorld({ answer: () => modelAnswer('', many), tools: [readFile] });
    await expect(calling.attempt()).rejects.toMatchObject({
      isFinal: true,
      message: 'agent reviewer: an answer of local:one calls 1025 tools, at most 1024 are allowed',
    });
    const tools = Array.from({ length: 10 }, (_, n) => ({
      ...aFoundTool(`t${n}`),
      description: '\0'.repeat(20_000),
    }));
    const world = new AgentWorld({ answer: () => modelAnswer('ok'), tools });
    await expect(world.attempt()).rejects.toMatchObject({
      isFinal: true,
      message: expect.stringContaining('the first row of the run'),
    });
    expect([world.modelRequests, world.rows]).toEqual([[], []]);
  });

  it('stores a structured answer only once', async () => {
    const object = { list: 'x'.repeat(600_000) };
    const world = new AgentWorld({
      answer: () => modelAnswer(JSON.stringify(object)),
      runtime: aRuntime({ servers: [], output_schema: { type: 'object' } }),
    });
    expect(await world.attempt()).toMatchObject({ text: JSON.stringify(object), data: object });
    expect(world.ofKind('ended')).toEqual([{ kind: 'ended', text: JSON.stringify(object) }]);
  });

  it('reports too deeply nested arguments and answers to the model', async () => {
    const deep = `{"a":${'['.repeat(50_000)}${']'.repeat(50_000)}}`;
    const world = new AgentWorld({
      tools: [write],
      answer: (_, n) =>
        n === 1
          ? modelAnswer('', [], { calls: [{ id: 'c', name: 'write_file', input: deep }], finish: 'calls' })
          : modelAnswer(n === 2 ? deep : '{"a":1}'),
      runtime: aRuntime({ output_schema: { type: 'object', properties: { a: { enum: [1] } } } }),
    });
    expect(await world.attempt()).toMatchObject({ data: { a: 1 } });
    expect(world.made).toEqual([]);
    expect(lastResults(world.modelRequests[1] as ModelRequest)).toMatchObject([
      { text: expect.stringContaining('nested deeper than 128 levels') },
    ]);
    expect(world.modelRequests[2]?.messages.at(-1)).toMatchObject({
      text: expect.stringContaining('nested more than 128 levels deep'),
    });
  });

  it('returns structured data if it has an output schema', async () => {
    const answers = ['severity: low', '{"severity":"none"}', '```json\n{"severity":"low"}\n```'];
    const world = new AgentWorld({
      answer: (_request, n) => modelAnswer(answers[n - 1] ?? ''),
      runtime: aRuntime({
        servers: [],
        output_schema: { type: 'object', properties: { severity: { enum: ['low', 'high'] } } },
      }),
    });
    expect(await world.attempt()).toMatchObject({ text: '{"severity":"low"}', data: { severity: 'low' } });
    expect(world.modelRequests[2]?.messages.at(-1)).toMatchObject({
      role: 'user',
      text: expect.stringContaining('severity must be one of "low", "high"'),
    });
  });
});

describe('a call that needs approval', () => {
  const policy = { ...aRuntime().policy, ask: ['write_*'] };
  const answer = (request: ModelRequest) =>
    lastResults(request).length > 0
      ? modelAnswer(
          lastResults(request)
            .map(({ text }) => text)
            .join(' | '),
        )
      : modelAnswer('', [
          ['read_file', {}],
          ['write_file', { path: '/a' }],
        ]);
  const asking = () => new AgentWorld({ answer, tools: [readFile, write], runtime: aRuntime({ policy }) });

  it('waits, while calls that need no approval are made', async () => {
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

  it('is made with exactly the approved arguments', async () => {
    const world = asking();
    await world.attempt();
    expect(await world.attempt()).toMatchObject({ parkedOn: 'approval repohost:reviews/d-1' });
    world.decide('approval-1', 'approved');
    expect(await world.attempt()).toMatchObject({ text: 'read_file done | write_file done' });
    expect(world.made.at(-1)).toMatchObject({ tool: 'write_file', args: { path: '/a' } });
    expect(world.modelRequests).toHaveLength(2);
  });

  it('needs a new approval if the approved request was for another call', async () => {
    const world = asking();
    await world.attempt();
    world.decide('approval-1', 'approved', undefined, 'of something else');
    expect(await world.attempt()).toMatchObject({ parkedOn: 'approval repohost:reviews/d-1' });
    expect(world.made.map(({ tool }) => tool)).toEqual(['read_file']);
    world.decide('approval-2', 'approved');
    await world.attempt();
    expect(world.made.at(-1)).toMatchObject({ tool: 'write_file', args: { path: '/a' } });
  });

  it('is not made if it is denied; the model receives the comment', async () => {
    const world = asking();
    await world.attempt();
    world.decide('approval-1', 'denied', 'not today');
    expect(await world.attempt()).toMatchObject({
      text: expect.stringContaining('denied by ada: not today'),
    });
    expect(world.made.map(({ tool }) => tool)).toEqual(['read_file']);
  });

  it('is not made if the approval expires, or if nobody can be asked', async () => {
    const late = asking();
    await late.attempt();
    late.decide('approval-1', 'expired');
    expect(await late.attempt()).toMatchObject({
      text: expect.stringContaining('the required approval has expired'),
    });
    const alone = new AgentWorld({
      answer,
      tools: [readFile, write],
      runtime: aRuntime({ policy }),
      hasPeople: false,
    });
    expect(await alone.attempt()).toMatchObject({
      text: expect.stringContaining('approvals are not available here'),
    });
    expect([...late.made, ...alone.made].filter(({ tool }) => tool === 'write_file')).toEqual([]);
  });

  it('cannot be requested by the model if the policy denies the tool', async () => {
    const denying = aRuntime({ policy: { ...policy, deny: ['files/write_*', 'destructive'] } });
    const tools = [readFile, write, aFoundTool('drop', { isDestructive: true })];
    const world = new AgentWorld({ answer, tools, runtime: denying });
    expect(await world.attempt()).toMatchObject({
      text: expect.stringContaining('unknown tool "write_file"'),
    });
    expect(world.modelRequests[0]?.tools.map(({ name }) => name)).toEqual(['read_file']);
  });
});
