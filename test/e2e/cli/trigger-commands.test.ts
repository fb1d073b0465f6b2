// Commands for triggers, agents and deliveries, with a running gateway and on files alone.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import {
  type AgentProgram,
  agent,
  eventually,
  httpAgent,
  postHook,
  SECRET,
  startAgent,
  startAutomation,
  trigger,
  writeResources,
} from '../../fixtures/automation/automation.ts';
import { ask } from '../../fixtures/clients/api-client.ts';
import { Terminal } from '../../fixtures/clients/terminal.ts';
import {
  type GatewayProcess,
  startGateway,
  temporaryFolder,
} from '../../fixtures/gateway/gateway-process.ts';
import { runMain } from '../../fixtures/gateway/run-main.ts';

/** Contains the secret of the files, and removes the variables of the test environment. */
const bare = { GATEWAY_API_KEY: '', HOOK_SECRET: SECRET };
const webhook_secret = `\${HOOK_SECRET}`;
const once = { attempts: 1, min_backoff_seconds: 0.05, max_backoff_seconds: 0.1, factor: 2 };

const resources = (url: string) => [
  trigger('orders', {
    type: 'HTTP',
    config: { path: '/hooks/orders', webhook_secret },
    default_agent: 'clerk',
    retry: once,
  }),
  trigger('waiting', {
    type: 'HTTP',
    config: { path: '/hooks/waiting', webhook_secret },
    default_agent: 'clerk',
  }),
  trigger('release', {
    type: 'Manual',
    config: { require_confirmation: true, allowed_commands: ['ship', 'status'] },
    default_agent: 'clerk',
    commands: {
      ship: { agent: 'clerk', parameters: [{ name: 'version', required: true, description: 'which one' }] },
      status: { agent: 'clerk' },
    },
    retry: once,
  }),
  trigger('notes', { type: 'Manual', config: {}, default_agent: 'clerk', retry: once }),
  httpAgent('clerk', url),
  agent('spare', { description: 'stands by', runtime: { http: { url } } }),
];

let program: AgentProgram;
let gateway: GatewayProcess;
beforeAll(async () => {
  program = await startAgent(({ body }) => {
    if (/fail/.test(body.input)) return { status: 500 };
    return { text: `did ${body.command ?? '-'} ${JSON.stringify(body.parameters)} ${body.input}` };
  });
  gateway = await startAutomation({ resources: resources(program.url), env: bare });
});

/** Runs a command for the gateway of this file. */
const run = (...args: readonly string[]) => runMain([...args, '--url', gateway.url], { env: bare });

const stateOf = async (id: string) =>
  (await ask(`${gateway.url}/deliveries/${encodeURIComponent(id)}`)).json.state as string;

/** Posts to a trigger. Returns when the delivery has this state. */
async function delivered(name: string, text: string, state: string, path = 'orders'): Promise<string> {
  const answer = await postHook(
    gateway.url,
    `/hooks/${path}`,
    { text, of: name },
    { 'idempotency-key': name },
  );
  expect(answer.ok).toBe(true);
  const id = `http:${path}/${name}`;
  await eventually(async () => expect(await stateOf(id)).toBe(state));
  return id;
}

describe('the command `get`', () => {
  test('prints the triggers of a gateway as a table, and the API response with --json', async () => {
    const { code, stdout, stderr } = await run('triggers');
    expect([code, stderr]).toEqual([0, '']);
    const [title = '', ...rows] = stdout.trimEnd().split('\n');
    expect(title.split(/ {2,}/)).toEqual([
      ...[
        'TRIGGER',
        'TYPE',
        'MATURITY',
        'STATE',
        'HANDLED',
        'FAILED',
        'DEAD',
        'COMMANDS',
        'AGENT',
        'LAST ERROR',
      ],
    ]);
    expect(rows.map((row) => row.split(/ +/).slice(0, 4))).toEqual([
      ['notes', 'Manual', '-', 'open'],
      ['orders', 'HTTP', 'Stable', 'open'],
      ['release', 'Manual', '-', 'open'],
      ['waiting', 'HTTP', 'Stable', 'open'],
    ]);
    expect(stdout).toMatch(/^release .* ship status {2}clerk/m);
    const json = JSON.parse((await run('triggers', 'show', 'notes', '--json')).stdout);
    expect(json).toEqual((await ask(`${gateway.url}/triggers/notes`)).json);
  });

  test('prints all agents, or one agent', async () => {
    const all = await run('agents');
    expect([all.code, all.stdout]).toEqual([0, expect.stringMatching(/^spare +http +- +stands by$/m)]);
    const output = await run('agents', 'show', 'clerk', '--json');
    expect(JSON.parse(output.stdout)).toMatchObject({ name: 'clerk', runtime: 'http' });
    expect((await run('agents', 'show', 'clark')).stderr).toBe(
      'there is no agent "clark"; did you mean clerk?\n',
    );
  });

  test('suggests the name that was probably meant, or lists the names', async () => {
    for (const args of [
      ['triggers', 'show'],
      ['triggers', 'pause'],
      ['triggers', 'resume'],
      ['triggers', 'run'],
    ]) {
      const slip = await run(...args, 'realease');
      expect([slip.code, slip.stdout, slip.stderr]).toEqual([
        ...[1, '', 'there is no trigger "realease"; did you mean release?\n'],
      ]);
    }
    expect((await run('triggers', 'show', 'a/..')).stderr).toBe(
      'there is no trigger "a/.."; there are notes, orders, release, waiting\n',
    );
  });

  test('reads files without a gateway with -f', async () => {
    const folder = temporaryFolder();
    writeResources(folder, resources(program.url));
    const files = ['-f', join(folder, 'triggers'), join(folder, 'agents')];
    const offline = { env: bare, cwd: folder };
    const all = await runMain(['triggers', ...files], offline);
    expect([all.code, all.stderr]).toEqual([0, '']);
    expect(all.stdout).toMatch(/^release +Manual +- +yes +ship status +clerk +triggers\/release\.yaml$/m);
    const output = await runMain(['triggers', 'show', 'orders', '--json', ...files], offline);
    expect(JSON.parse(output.stdout)).toMatchObject({ name: 'orders', type: 'HTTP', enabled: true });
    expect(output.stdout).not.toContain(SECRET);
    const agents = await runMain(['agents', ...files], offline);
    expect(agents.stdout).toMatch(/^clerk +http +- +- +agents\/clerk\.yaml$/m);
    const slip = await runMain(['triggers', 'show', 'order', ...files], offline);
    expect([slip.code, slip.stderr]).toEqual([1, 'there is no trigger "order"; did you mean orders?\n']);
    writeFileSync(join(folder, 'triggers', 'bad.yaml'), 'kind: Trigger\nspec: {type: Manuel}\n');
    const bad = await runMain(['triggers', ...files], offline);
    expect([bad.code, bad.stdout]).toEqual([2, '']);
    expect(bad.stderr).toMatch(/bad\.yaml:2:\d+: spec\.type: .*did you mean Manual\?/);
  });

  test('reports a gateway without triggers', async () => {
    const { url } = await startGateway({});
    for (const args of [['triggers'], ['triggers', 'show', 'x'], ['deliveries'], ['triggers', 'run', 'x']]) {
      const { code, stderr } = await runMain([...args, '--url', url], { env: bare });
      expect([code, stderr]).toEqual([
        1,
        expect.stringContaining('this gateway has no triggers, agents, fleets or flows'),
      ]);
    }
  });
});

describe('the command `validate`', () => {
  const folder = temporaryFolder();
  const files = ['-f', join(folder, 'triggers'), '-f', join(folder, 'agents')];
  beforeAll(() => writeResources(folder, resources('http://127.0.0.1:9/')));

  test('counts the valid resources', async () => {
    expect(await runMain(['validate', ...files], { env: bare })).toEqual({
      code: 0,
      stdout: '4 triggers and 2 agents are valid\n  Stable: orders, waiting\n',
      stderr: '',
    });
    const json = JSON.parse((await runMain(['validate', ...files, '--json'], { env: bare })).stdout);
    expect(json).toMatchObject({ ok: true, problems: [], agents: [{ name: 'clerk' }, { name: 'spare' }] });
    expect(json.triggers).toContainEqual(expect.objectContaining({ name: 'orders', maturity: 'Stable' }));
  });

  test('reports all problems with their positions, and exits with 2', async () => {
    const bad = join(folder, 'bad');
    mkdirSync(bad);
    writeFileSync(
      join(bad, 'one.yaml'),
      'apiVersion: example.com/v1\nkind: Triger\nmetadata: {name: one}\nspec: {}\n',
    );
    writeFileSync(
      join(bad, 'two.yaml'),
      [
        ...['apiVersion: example.com/v1', 'kind: Trigger', 'metadata: {name: two}', 'spec:', '  type: HTTP'],
        ...['  config: {path: hooks, webhook_secret: secret-4711}', '  default_agent: clerk', ''],
      ].join('\n'),
    );
    const { code, stdout, stderr } = await runMain(['validate', '-f', bad, ...files], { env: bare });
    expect(code).toBe(2);
    expect(stderr).toMatch(/one\.yaml:2:7: kind: .*did you mean Trigger\?/);
    expect(stderr).toMatch(/two\.yaml:6:18: spec\.config\.path: /);
    expect(stdout).toMatch(/^2 problems; 4 triggers and 2 agents are valid$/m);
    const json = JSON.parse((await runMain(['validate', '-f', bad, '--json'], { env: bare })).stdout);
    expect(json).toMatchObject({ ok: false });
    const errors = json.problems.filter(({ severity }: { severity: string }) => severity === 'error');
    expect(errors).toHaveLength(2);
    expect(stdout + stderr).not.toContain('secret-4711');
  });

  test('warns about variables that are not set, and fails for missing files', async () => {
    const file = join(folder, 'variable.yaml');
    const spec = `{type: HTTP, config: {path: /x, webhook_secret: "\${NO_SUCH_SECRET}"}, default_agent: clerk}`;
    writeFileSync(file, `apiVersion: example.com/v1\nkind: Trigger\nmetadata: {name: v}\nspec: ${spec}\n`);
    const { code, stderr } = await runMain(['validate', '-f', file, ...files], { env: bare });
    expect([code, stderr]).toEqual([
      0,
      expect.stringMatching(/variable\.yaml:4:\d+: warning: .*NO_SUCH_SECRET/),
    ]);
    const missing = await runMain(['validate', '-f', join(folder, 'gone')]);
    expect([missing.code, missing.stderr]).toEqual([2, expect.stringContaining('gone')]);
  });

  test('does not report two bots with unset token variables as the same bot', async () => {
    const bots = ['one', 'two'].map((name, index) => {
      const file = join(folder, `bot-${name}.yaml`);
      const config = `{bot_token: "\${BOT_${name}}", mode: ${index === 0 ? 'polling' : 'webhook, secret_token: abc-4711'}}`;
      const spec = `{type: BotMessenger, config: ${config}, default_agent: clerk}`;
      writeFileSync(
        file,
        `apiVersion: example.com/v1\nkind: Trigger\nmetadata: {name: ${name}}\nspec: ${spec}\n`,
      );
      return ['-f', file];
    });
    const { code, stdout, stderr } = await runMain(['validate', ...bots.flat(), ...files], { env: bare });
    expect([code, stdout]).toEqual([0, expect.stringContaining('6 triggers and 2 agents are valid')]);
    expect(stderr).toMatch(/bot-one\.yaml:4:\d+: warning: .*BOT_one is not set/);
    expect(stderr).toMatch(/bot-two\.yaml:4:\d+: warning: .*BOT_two is not set/);
    expect(stderr).not.toContain('same');
  });
});

describe('the command `run trigger`', () => {
  test('prints the answer', async () => {
    const { code, stdout, stderr } = await run('triggers', 'run', 'notes', '--text', 'what is new?');
    expect([code, stdout, stderr]).toEqual([0, 'did - {} what is new?\n', '']);
  });

  test('passes parameters by name or by position', async () => {
    const args = ['triggers', 'run', 'release', '--yes', '--command'];
    const named = await run(...args, 'ship', '--input', 'version=1.2=3', '--input', 'more=x');
    expect(named.stdout).toMatch(/^did ship \{"version":"1\.2=3","more":"x"\}/);
    const behind = await run(...args, '/ship 1.2.3');
    expect(behind.stdout).toMatch(/^did ship \{"version":"1\.2\.3"\}/);
  });

  test('prints the API response with --json or --output json', async () => {
    for (const format of [['--json'], ['-o', 'json'], ['--output', 'json']]) {
      const { code, stdout } = await run('triggers', 'run', 'notes', '--text', 'hi', ...format);
      expect([code, JSON.parse(stdout)]).toEqual([
        0,
        {
          id: expect.stringMatching(/^manual:/),
          state: 'done',
          answer: 'did - {} hi',
          note: null,
          waiting_for: null,
          until: null,
        },
      ]);
    }
  });

  test('prints the accepted delivery with --no-wait', async () => {
    const { code, stdout } = await run('triggers', 'run', 'notes', '--text', 'later', '--no-wait');
    const [, id = ''] =
      /^(manual:\S+) is accepted; "deliveries show manual:\S+" shows its result$/m.exec(stdout) ?? [];
    expect([code, id]).toEqual([0, expect.stringContaining('manual:')]);
    await eventually(async () => expect(await stateOf(id)).toBe('done'));
    expect((await run('deliveries', 'show', id)).stdout).toMatch(/^answer +did - \{\} later$/m);
  });

  test('requires --yes for a trigger with confirmation if there is no terminal', async () => {
    const before = program.requests.length;
    const { code, stdout, stderr } = await run('triggers', 'run', 'release', '--command', 'status');
    expect([code, stdout, stderr]).toEqual([2, '', 'error: release requires confirmation; add --yes\n']);
    expect(program.requests).toHaveLength(before);
    const confirmed = await run('triggers', 'run', 'release', '--command', 'status', '--yes');
    expect([confirmed.code, confirmed.stdout]).toEqual([0, expect.stringMatching(/^did status/)]);
  });

  test('asks in a terminal for missing parameters and for confirmation', async () => {
    const args = ['triggers', 'run', 'release', '--interactive', '--url', gateway.url];
    const before = program.requests.length;
    const no = new Terminal([...args, '--command', 'status'], { env: bare });
    await eventually(() => expect(no.text).toContain('Run release status? [y/N]'));
    no.type('n\n');
    await eventually(() => expect(no.text).toMatch(/not confirmed; nothing was run[\s\S]*ENDED 2/));
    expect(program.requests).toHaveLength(before);
    const yes = new Terminal(args, { env: bare });
    await eventually(() => expect(yes.text).toContain('command (ship, status): '));
    yes.type('ship\n');
    await eventually(() => expect(yes.text).toContain('version (which one): '));
    yes.type('7\n');
    await eventually(() => expect(yes.text).toContain('Run release ship? [y/N]'));
    yes.type('y\n');
    await eventually(() => expect(yes.text).toMatch(/did ship \{"version":"7"\}[\s\S]*ENDED 0/));
  });

  test('reports the reason of a failure: forbidden command, missing parameter, failed agent', async () => {
    const other = await run('triggers', 'run', 'release', '--yes', '--command', 'drop');
    expect([other.code, other.stdout]).toEqual([1, '']);
    expect(other.stderr).toMatch(/release does not run "drop"; allowed_commands are ship, status/);
    const missing = await run('triggers', 'run', 'release', '--yes', '--command', 'ship');
    expect([missing.code, missing.stdout]).toEqual([1, expect.stringMatching(/version/)]);
    const broken = await run('triggers', 'run', 'notes', '--text', 'fail');
    expect([broken.code, broken.stdout]).toEqual([1, expect.stringMatching(/^manual:\S+ is dead: /)]);
  });

  test('rejects a trigger that is not of type Manual, before any question', async () => {
    const { code, stderr } = await run('triggers', 'run', 'orders', '--interactive');
    expect([code, stderr]).toEqual([1, expect.stringContaining('orders is of type HTTP')]);
    const interactive = await run('triggers', 'run', 'notes', '--interactive');
    expect([interactive.code, interactive.stdout, interactive.stderr]).toEqual([
      2,
      '',
      expect.stringMatching(/^error: /),
    ]);
  });
});

describe('deliveries', () => {
  test('are listed, newest first, by state, trigger, source, conversation and time', async () => {
    const done = await delivered('list-1', 'fine', 'done');
    const dead = await delivered('list-2', 'fail', 'dead');
    const { code, stdout } = await run('deliveries', '--trigger', 'orders');
    const lines = stdout.trimEnd().split('\n');
    expect([code, lines[0]?.split(/ {2,}/)]).toEqual([
      0,
      ['RECEIVED', 'STATE', 'TRIES', 'TOOK', 'TRIGGER', 'ID', 'NOTE'],
    ]);
    expect(lines[1]).toMatch(new RegExp(`dead +1 +\\S+ +orders +${dead} +\\S`));
    expect(lines[2]).toMatch(new RegExp(`done +1 +\\S+ +orders +${done}`));
    const idsOf = async (...args: string[]) =>
      JSON.parse((await run('deliveries', '--json', ...args)).stdout).deliveries.map(
        ({ id }: { id: string }) => id,
      );
    expect(await idsOf('--state', 'dead', '--source', 'HTTP')).toEqual([dead]);
    expect(await idsOf('--conversation', 'http/orders', '--since', '1h', '--limit', '1')).toEqual([dead]);
    expect(await idsOf('--since', '2099-01-01')).toEqual([]);
    const page = await run('deliveries', '--limit', '1', '--conversation', 'http/orders');
    const [, before = ''] = /^more: --before (\d+)$/m.exec(page.stdout) ?? [];
    expect(await idsOf('--conversation', 'http/orders', '--limit', '1', '--before', before)).toEqual([done]);
    expect((await run('deliveries', '--since', '2099-01-01')).stdout).toBe('no deliveries\n');
  });

  test('with an invalid filter option are not listed: exit code 2, and the error shows valid values', async () => {
    for (const [option, value, words] of [
      ['--state', 'late', 'valid values: queued, running'],
      ['--since', 'yesterday', 'since should be a time'],
      ['--limit', '0', 'limit should be a whole number'],
      [
        '--source',
        'shop',
        'repohost, repohostb, repohostc, issuetracker, incidentmanager, http, schedule, manual',
      ],
    ] as const) {
      const { code, stdout, stderr } = await run('deliveries', option, value);
      expect([code, stdout, stderr]).toEqual([2, '', expect.stringContaining(words)]);
    }
  });

  test('are shown with attempts, answer and body', async () => {
    const id = await delivered('show-1', 'hello', 'done');
    const { code, stdout } = await run('deliveries', 'show', id);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^state +done$/m);
    expect(stdout).toMatch(/^conversation +\S*http\/orders$/m);
    expect(stdout).toMatch(/^answer +did - \{\} hello$/m);
    expect(stdout).toMatch(/^ {2}\{"text":"hello","of":"show-1"\}$/m);
    const dead = await delivered('show-2', 'fail', 'dead');
    expect((await run('deliveries', 'show', dead)).stdout).toMatch(/^attempt 1 +20\S+ \S/m);
    const page = (await run('triggers', 'show', 'orders')).stdout;
    expect(page).toMatch(/^dead letters +[1-9]\d*, last at 20\S+ {2}\S.*\(http:orders\/\S+\)$/m);
    // The reason of the newest dead delivery is the last error of triggers that have none themselves.
    expect((await run('triggers')).stdout).toMatch(/^orders +HTTP +Stable +open +\d+ +\d+ +[1-9]\d* .* 500/m);
    const json = JSON.parse((await run('deliveries', 'show', id, '--json')).stdout);
    expect(json).toMatchObject({ id, state: 'done', trigger: 'orders', attempts: 1 });
  });

  test('that do not exist are reported with the command that lists them', async () => {
    for (const verb of ['show', 'replay', 'discard']) {
      const { code, stdout, stderr } = await run('deliveries', verb, 'http:none/1');
      expect([code, stdout]).toEqual([1, '']);
      expect(stderr).toMatch(/^there is no delivery "http:none\/1"; "deliveries" lists the existing ones/);
    }
  });

  test('are replayed, several together, and a failure does not stop the other replays', async () => {
    const first = await delivered('replay-1', 'one', 'done');
    const second = await delivered('replay-2', 'two', 'done');
    const before = program.requests.length;
    const { code, stdout } = await run('deliveries', 'replay', first, 'http:none/1', second);
    expect(code).toBe(1);
    const lines = stdout.trimEnd().split('\n');
    expect(lines).toEqual([
      expect.stringMatching(new RegExp(`^${first} is (queued|running|done)$`)),
      expect.stringMatching(/^http:none\/1: there is no delivery /),
      expect.stringMatching(new RegExp(`^${second} is (queued|running|done)$`)),
    ]);
    await eventually(() => expect(program.requests).toHaveLength(before + 2));
    const alone = await run('deliveries', 'replay', first, '--json');
    expect([alone.code, JSON.parse(alone.stdout)]).toMatchObject([0, [{ id: first }]]);
  });

  test('are discarded, also while they wait, but not after they have finished', async () => {
    const dead = await delivered('discard-1', 'fail', 'dead');
    expect(await run('deliveries', 'discard', dead)).toEqual({
      code: 0,
      stdout: `${dead} is ignored\n`,
      stderr: '',
    });
    const secondRun = await run('deliveries', 'discard', dead);
    expect([secondRun.code, secondRun.stdout, secondRun.stderr]).toEqual([
      ...[1, '', expect.stringMatching(/the delivery is ignored; running, done and ignored deliveries/)],
    ]);
  });
});

describe('triggers', () => {
  test('can be paused, so that new events wait, and resumed, so that they are handled', async () => {
    expect(await run('triggers', 'pause', 'waiting')).toEqual({
      code: 0,
      stdout: 'waiting is paused\n',
      stderr: '',
    });
    const id = await delivered('held-1', 'patience', 'held', 'waiting');
    expect((await run('triggers')).stdout).toMatch(/^waiting +HTTP +Stable +paused /m);
    const stats = (await run('stats')).stdout;
    expect(stats).toMatch(/^triggers +4 triggers: 1 paused, 3 open; \d+ handled, \d+ failed attempts?$/m);
    expect(stats).toMatch(/^deliveries +.*1 held/m);
    expect((await run('top', '--once')).stdout).toMatch(
      /^4 triggers: 1 paused, 3 open.*; deliveries: .*1 held/m,
    );
    expect(JSON.parse((await run('stats', '--json')).stdout)).toMatchObject({
      triggers: { waiting: { state: 'paused', paused: true, handled: 0, failed: 0 } },
      deliveries: { held: 1, queued: 0 },
      conversations: { places: expect.any(Number) },
      outbox: { active: 0 },
    });
    const resumed = await run('triggers', 'resume', 'waiting', '--json');
    expect(JSON.parse(resumed.stdout)).toMatchObject({ name: 'waiting', state: 'open', paused: false });
    await eventually(async () => expect(await stateOf(id)).toBe('done'));
  });
});
