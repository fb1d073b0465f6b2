// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the tests contain references.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { ResourceFolder, triggerText } from './resource-folder.ts';

let folder = new ResourceFolder();
beforeEach(() => {
  folder = new ResourceFolder();
});

const manual = (name: string, more = 'default_agent: echo') =>
  `apiVersion: example.com/v1\nkind: Trigger\nmetadata: { name: ${name} }\nspec: { type: Manual, config: {}, ${more} }\n`;
const agent = (name: string, spec = 'runtime: { http: { url: "http://127.0.0.1:9/" } }') =>
  `apiVersion: example.com/v1alpha1\nkind: Agent\nmetadata: { name: ${name} }\nspec: { ${spec} }\n`;

describe('the header of a resource', () => {
  const head = (lines: string) => `${lines}\nspec: { type: Manual, config: {}, default_agent: echo }\n`;

  test.each(['example.com/v1', 'a/v1alpha1', 'x-1.y/v1'])(
    'may have the apiVersion %s',
    async (apiVersion) => {
      const { lines } = await folder.loadText(manual('t').replace('example.com/v1', apiVersion));
      expect(lines).toEqual([]);
    },
  );

  test.each(['v1', 'example.com/v2', 'Example/v1', '/v1', 'a/v1beta1'])(
    'may not have the apiVersion %s',
    async (apiVersion) => {
      const { errors } = await folder.loadText(manual('t').replace('example.com/v1', apiVersion));
      expect(errors).toEqual([
        `t.yaml:1:13: apiVersion: expected GROUP/v1 or GROUP/v1alpha1, such as example.com/v1, found "${apiVersion}"`,
      ]);
    },
  );

  test.each(['a', 'a-b', '0a', 'x'.repeat(63)])('may have the name %s', async (name) => {
    expect((await folder.loadText(manual(name))).lines).toEqual([]);
  });

  test.each(['A', 'a_b', '-a', 'a-', 'a.b', 'x'.repeat(64)])('may not have the name %s', async (name) => {
    const { errors } = await folder.loadText(manual(name));
    expect(errors).toEqual([
      expect.stringMatching(/^t\.yaml:3:19: metadata\.name: expected 1 to 63 of a-z 0-9 and -,/),
    ]);
  });

  test('may have labels and annotations, and nothing else', async () => {
    const { triggers, errors } = await folder.loadText(
      head(`apiVersion: a/v1
kind: Trigger
metadata:
  name: t
  labels: { team: ops, "example.com/tier": gold }
  annotations: { note: any text }`),
    );
    expect(errors).toEqual([]);
    expect(triggers[0]).toMatchObject({
      labels: { team: 'ops', 'example.com/tier': 'gold' },
      annotations: { note: 'any text' },
    });
    const rejectedFile = await folder.loadText(
      head(`apiVersion: a/v1
kind: Trigger
metadata:
  name: t
  lables: {}
  labels: { team: 5 }
extra: 1`),
    );
    expect(rejectedFile.errors).toEqual([
      't.yaml:5:3: metadata.lables: unknown key; did you mean labels?',
      't.yaml:6:19: metadata.labels.team: expected text, found 5; put it in quotes',
      't.yaml:7:1: extra: unknown key',
    ]);
  });

  test.each([
    ['Trigge', 'unknown kind; did you mean Trigger?'],
    ['Daemon', 'is a gateway file, checked with --config FILE --check; expected Trigger, Agent, Fleet, Flow'],
    ['Deployment', 'unknown kind; expected Trigger, Agent, Fleet, Flow'],
  ])('with the kind %s is refused', async (kind, message) => {
    const { errors } = await folder.loadText(manual('t').replace('kind: Trigger', `kind: ${kind}`));
    expect(errors).toEqual([`t.yaml:2:7: kind: ${message}`]);
  });

  test.each([
    ['[]', 't.yaml:1:1: kind: expected a resource: a mapping with apiVersion, kind, metadata and spec'],
    ['apiVersion: a/v1', 't.yaml:1:1: kind: required, but missing; expected Trigger, Agent, Fleet, Flow'],
  ])('cannot be %s', async (text, problem) => {
    expect((await folder.loadText(text)).errors).toEqual([problem]);
  });

  test('reports all missing fields', async () => {
    expect((await folder.loadText('kind: Trigger\nspec: { default_agent: echo }\n')).errors).toEqual([
      't.yaml:1:1: apiVersion: required, but missing',
      't.yaml:1:1: metadata: required, but missing',
      expect.stringMatching(
        /^t\.yaml:2:7: spec\.type: required, but missing; expected one of ChatWorkspace,/,
      ),
    ]);
    expect((await folder.loadText('kind: Trigger\n')).errors).toContain(
      't.yaml:1:1: spec: required, but missing',
    );
  });
});

describe('the type of a trigger', () => {
  test.each([
    ['HTTP', 'http'],
    ['HTTP', 'Webhook'],
    ['RepoHost', 'GitHub'],
    ['RepoHost', 'repo_host'],
    ['Schedule', 'cron'],
    ['Schedule', 'SCHEDULE'],
    ['Manual', 'manual'],
    ['BotMessenger', 'telegram'],
    ['BotMessenger', 'bot_messenger'],
    ['ChatWorkspace', 'Slack'],
    ['TeamChat', 'MSTeams'],
    ['TeamChat', 'Teams'],
    ['IssueTracker', 'Jira'],
    ['RepoHostC', 'Bitbucket'],
    ['IncidentManager', 'PagerDuty'],
    ['IncidentManager', 'incident_manager'],
  ])('%s may be written %s', async (type, spelling) => {
    const configs: Readonly<Record<string, string>> = {
      Schedule: 'cron: "* * * * *"',
      Manual: '',
      BotMessenger: 'bot_token: "${S}"',
      ChatWorkspace: 'bot_token: "${S}", signing_secret: "${S}"',
      TeamChat: 'app_id: a, app_password: "${S}"',
      IncidentManager: 'routing_key: "${S}", webhook_secret: "${S}"',
      IssueTracker: 'webhook_secret: "${S}", base_url: "https://tracker.example"',
    };
    const config = configs[type] ?? 'webhook_secret: "${S}"';
    const { trigger, errors } = await folder.loadConfig(spelling, config, { env: { S: 'a-secret' } });
    expect(errors).toEqual([]);
    expect(trigger?.type).toBe(type);
  });

  test('that is unknown is reported with a suggestion, and the other fields are checked', async () => {
    const text = triggerText('Shedule', 'anything: 1', '  defaultAgent: echo');
    expect((await folder.loadText(text)).errors).toEqual([
      't.yaml:5:9: spec.type: unknown type; did you mean Schedule?',
      't.yaml:7:3: spec.defaultAgent: unknown key; did you mean default_agent?',
    ]);
    const [far] = (await folder.loadConfig('Zebra', '')).errors;
    expect(far).toMatch(/^t\.yaml:5:9: spec\.type: unknown type; expected one of ChatWorkspace, /);
    expect((await folder.loadConfig('"${TYPE}"', '')).errors[0]).toMatch(/unknown type/);
  });

  test("may have its vendor's field names, once each", async () => {
    const env = { S: 'a-secret' };
    const { trigger } = await folder.loadConfig('GitHub', 'webhook_secret: "${S}", github_events: [push]', {
      env,
    });
    expect(trigger?.config).toMatchObject({ repo_events: ['push'] });
    const { errors } = await folder.loadConfig(
      'GitHub',
      'webhook_secret: "${S}", github_events: [push], repo_events: []',
      { env },
    );
    expect(errors).toEqual([
      't.yaml:6:37: spec.config.github_events: means repo_events, which is also present',
    ]);
    const rejectedFile = await folder.loadConfig(
      'GitHub',
      'webhook_secret: "${S}", github_events: [pushed]',
      {
        env,
      },
    );
    expect(rejectedFile.errors).toEqual([
      't.yaml:6:53: spec.config.repo_events[0]: there is no event pushed; did you mean push?',
    ]);
  });
});

describe('the commands of a trigger', () => {
  const withCommands = (commands: string) =>
    folder.loadText(triggerText('Manual', '', `  commands:\n${commands.replace(/^/gm, '    ')}`));

  test('are loaded as bindings whose names have no leading slash', async () => {
    const { triggers, lines } = await withCommands(`/deploy:
  agent: echo
  description: Deploys.
  parameters:
    - { name: env, required: true, description: Where to }
    - { name: why, default: no reason }
check: { agent: echo }`);
    expect(lines).toEqual([]);
    expect(triggers[0]?.commands).toEqual([
      {
        command: 'deploy',
        target: { kind: 'agent', name: 'echo' },
        description: 'Deploys.',
        parameters: [
          { name: 'env', required: true, description: 'Where to', default: undefined },
          { name: 'why', required: false, description: undefined, default: 'no reason' },
        ],
      },
      { command: 'check', target: { kind: 'agent', name: 'echo' }, description: undefined, parameters: [] },
    ]);
  });

  test.each([
    ['a: {}', 'a: has no target: set an agent, a fleet or a flow'],
    [
      'a: { agent: echo, fleet: f }',
      'a: has several targets: agent and fleet; only one of agent, fleet and flow is allowed',
    ],
    ['a: { fleet: f }', 'a.fleet: there is no fleet f'],
    ['a: { flow: f }', 'a.flow: there is no flow f'],
    [
      'a: { agent: echo, requires_approval: true }',
      'a.requires_approval: has no approver: set approvers or an approval_channel, or approval_allowed_users of the trigger for a chat',
    ],
    ['a: { agent: echos }', 'a.agent: there is no agent echos; did you mean echo?'],
    ['a: { agent: zebra }', 'a.agent: there is no agent zebra'],
    ['a: { agentt: echo, agent: echo }', 'a.agentt: unknown key; did you mean agent?'],
    ['{ a: { agent: echo }, /a: { agent: echo } }', '["/a"]: is the same command as a'],
    [
      '"a b": { agent: echo }',
      '["a b"]: the key should be a command without spaces, such as /deploy or pull_request.opened',
    ],
    ['a: { agent: echo, parameters: [{ name: x }, { name: x }] }', 'a.parameters[1].name: is a duplicate: x'],
    ['a: { agent: echo, parameters: [{ required: true }] }', 'a.parameters[0].name: required, but missing'],
    [
      'a: { agent: echo, parameters: [{ name: x y }] }',
      'a.parameters[0].name: expected a name of A-Z a-z 0-9 _ -, beginning with a letter, found "x y"',
    ],
    [
      'a: { agent: echo, parameters: [{ name: x, default: 5 }] }',
      'a.parameters[0].default: expected text, found 5; put it in quotes',
    ],
  ])('cannot be %s', async (commands, problem) => {
    const { triggers, errors } = await withCommands(commands);
    expect(triggers).toEqual([]);
    expect(errors.filter((line) => line.endsWith(problem)).length, errors.join('\n')).toBe(1);
    expect(
      errors.filter((line) => !line.includes('agentt') && !line.includes('fleet') && !line.endsWith(problem)),
    ).toEqual([]);
  });

  test('cause a warning if a field of a command has no effect, or if the trigger has no target', async () => {
    expect((await folder.loadText(triggerText('Manual', '', ''))).lines).toEqual([
      't.yaml:5:3: warning: spec: has no target: it has no commands, and default_agent is not set',
    ]);
    const { lines } = await withCommands(
      'a: { agent: echo, approval_channel: c, parameters: [{ name: x, required: true, default: y }] }',
    );
    expect(lines).toEqual([
      't.yaml:8:23: warning: spec.commands.a.approval_channel: has no effect without requires_approval',
      't.yaml:8:78: warning: spec.commands.a.parameters[0].required: has no effect together with default',
    ]);
  });
});

describe('options of a trigger', () => {
  test('are read and checked against each other', async () => {
    const { triggers, lines } = await folder.loadText(
      manual(
        't',
        'default_agent: echo, enabled: false, timeout_seconds: 5, retry: { attempts: 1, factor: 2 }',
      ),
    );
    expect(lines).toEqual([]);
    expect(triggers[0]).toMatchObject({
      enabled: false,
      timeout_seconds: 5,
      retry: { attempts: 1, min_backoff_seconds: 5, factor: 2, max_backoff_seconds: 600 },
    });
    const { errors } = await folder.loadText(
      manual(
        't',
        'default_agent: echo, timeout_seconds: 0, retry: { min_backoff_seconds: 700, attempts: 0 }',
      ),
    );
    expect(errors).toEqual([
      't.yaml:4:73: spec.timeout_seconds: expected a number > 0, found 0',
      't.yaml:4:106: spec.retry.min_backoff_seconds: min_backoff_seconds (700) must not exceed max_backoff_seconds (600)',
      't.yaml:4:121: spec.retry.attempts: expected a whole number >= 1, found 0',
    ]);
  });
});

describe('an agent', () => {
  test('that a program runs accepts every field', async () => {
    folder.write('answers.yaml', 'anything');
    const file = folder.write(
      'a.yaml',
      `apiVersion: a/v1alpha1
kind: Agent
metadata: { name: helper, labels: { team: ops } }
spec:
  model: vendor:large-1
  runtime: { http: { url: "https://agents.example/run", headers: { Authorization: "Bearer \${KEY}" } } }
  description: Helps.
  system_prompt: |
    Be brief.
  temperature: 0.5
  max_tokens: 1000
  tools: [shell]
  mcp_servers:
    - { name: files, command: npx, args: [server, /data], env: { TOKEN: "\${KEY}" } }
    - { name: other, command: node }
`,
    );
    const { agents, lines, secrets } = await folder.load({ files: [file], env: { KEY: 'the-key-of-it' } });
    expect(lines).toEqual([]);
    expect(agents).toEqual([
      {
        name: 'helper',
        model: 'vendor:large-1',
        format: 'markdown',
        runtime: {
          kind: 'http',
          url: 'https://agents.example/run',
          headers: { Authorization: 'Bearer the-key-of-it' },
          timeout_seconds: 300,
        },
        description: 'Helps.',
        tools: ['shell'],
        mcp_servers: ['files', 'other'],
        labels: { team: 'ops' },
        annotations: {},
        file,
        hash: expect.stringMatching(/^[0-9a-f]{16}$/),
      },
    ]);
    expect(secrets).toContain('the-key-of-it');
  });

  test('may answer from a script file, and counts as changed after a change of the script', async () => {
    folder.write('scripts/a.yaml', '- answer: first');
    const file = folder.write('a.yaml', agent('a', 'model: "scripted:./scripts/a.yaml"'));
    const first = await folder.load({ files: [file] });
    expect(first.lines).toEqual([]);
    expect(first.agents[0]?.runtime).toEqual({
      kind: 'scripted',
      script: join(folder.path, 'scripts/a.yaml'),
    });
    expect((await folder.load({ files: [file] })).agents[0]?.hash).toBe(first.agents[0]?.hash);
    folder.write('scripts/a.yaml', '- answer: second');
    expect((await folder.load({ files: [file] })).agents[0]?.hash).not.toBe(first.agents[0]?.hash);
  });

  test.each([
    ['model: "scripted:./gone.yaml"', 'a.yaml:4:16: spec.model: gone.yaml: the file does not exist'],
    ['tools: []', 'a.yaml:4:7: spec: needs a model or a runtime'],
    [
      'model: large',
      'a.yaml:4:16: spec.model: expected PROVIDER:MODEL, such as google:gemini-2.5-flash, found "large"',
    ],
    ['runtime: {}', 'a.yaml:4:18: spec.runtime.http: required, but missing'],
    [
      'runtime: { http: { url: nowhere } }',
      'a.yaml:4:33: spec.runtime.http.url: expected an address that begins with https:// or http://, found "nowhere"',
    ],
    [
      'runtime: { http: { url: "http://a", headers: { Host: b } } }',
      'a.yaml:4:56: spec.runtime.http.headers.Host: is set by the gateway itself',
    ],
    ['model: "a:b", temperature: 3', 'a.yaml:4:36: spec.temperature: expected a number <= 2, found 3'],
    [
      'model: "a:b", mcp_servers: [{ name: x }]',
      'a.yaml:4:37: spec.mcp_servers[0]: needs a command, or a url; for a server of the catalog write - server: x',
    ],
    [
      'model: "a:b", mcp_servers: [{ name: x, command: y }, { name: x, command: y }]',
      'a.yaml:4:70: spec.mcp_servers[1].name: is a duplicate: x',
    ],
  ])('refuses { %s }', async (spec, problem) => {
    const file = folder.write('a.yaml', agent('a', spec));
    const { agents, errors } = await folder.load({ files: [file] });
    expect(errors).toEqual([problem]);
    expect(agents).toEqual([]);
  });

  test.each([
    ['', ['the file is empty; expected a list of rules']],
    ['answer: x', ['expected a list of rules']],
    [
      '- { matc: { text: x }, answer: x }\n- { answer: well }\n- answer: [x]\n',
      ['rule 1: unknown field matc', 'rule 3: answer should be a text'],
    ],
    [
      `- { answer: x, match: { text: '(' } }`,
      ['rule 1: match.text is not a regular expression (RE2 syntax): missing closing )'],
    ],
    ['- answer: @x', [expect.stringMatching(/^line 1, column 11: YAML syntax: .*; put the value in quotes/)]],
  ])('is refused with the invalid script %j, with all its problems', async (text, faults) => {
    folder.write('a.txt', text);
    const file = folder.write('a.yaml', agent('a', 'model: "scripted:a.txt"'));
    const { agents, errors } = await folder.load({ files: [file] });
    const location = 'a.yaml:4:16: spec.model: a.txt: ';
    expect(errors.map((line) => line.replace(location, ''))).toEqual(faults);
    expect(errors.every((line) => line.startsWith(location))).toBe(true);
    expect(agents).toEqual([]);
  });

  test('with a script and a runtime is refused', async () => {
    folder.write('a.txt', '[]');
    const file = folder.write(
      'a.yaml',
      agent('a', 'model: "scripted:a.txt", runtime: { http: { url: "http://a" } }'),
    );
    expect((await folder.load({ files: [file] })).errors).toEqual([
      'a.yaml:4:34: spec.runtime: contradicts model, which names a script',
    ]);
  });
});

describe('resource files', () => {
  test('are read from folders by name, without hidden files, with any kind of resource', async () => {
    folder.write('t/b.yml', manual('b'));
    folder.write('t/a.yaml', manual('a'));
    folder.write(
      't/c.json',
      JSON.stringify({
        apiVersion: 'a/v1',
        kind: 'Trigger',
        metadata: { name: 'c' },
        spec: { type: 'Manual', config: {}, default_agent: 'echo' },
      }),
    );
    folder.write('t/.hidden.yaml', 'zebra');
    folder.write('t/notes.md', 'zebra');
    folder.write('t/deeper/d.yaml', 'zebra');
    folder.write('a/echo.yaml', agent('echo'));
    const { triggers, agents, lines } = await folder.load({
      triggers: join(folder.path, 't'),
      agents: join(folder.path, 'a'),
    });
    expect(lines).toEqual([]);
    expect(triggers.map(({ name }) => name)).toEqual(['a', 'b', 'c']);
    expect(agents.map(({ name }) => name)).toEqual(['echo']);
  });

  test('are read once, even if they are named twice', async () => {
    const file = folder.write('t.yaml', `${manual('t')}---\n${agent('echo')}`);
    const { triggers, lines } = await folder.load({
      triggers: folder.path,
      agents: folder.path,
      files: [file],
    });
    expect(lines).toEqual([]);
    expect(triggers).toHaveLength(1);
  });

  test('may have several documents, each with its own positions and anchors', async () => {
    const { triggers, agents, lines } = await folder.load({
      files: [
        folder.write(
          'all.yaml',
          `# resources\n---\n${manual('a', 'default_agent: &who echo, commands: { x: { agent: *who } }')}---\n---\n${agent('echo')}---\n${manual('b', 'defaul_agent: *who')}`,
        ),
      ],
    });
    expect(triggers.map(({ name }) => name)).toEqual([]);
    expect(agents).toEqual([]);
    expect(lines).toEqual([
      expect.stringContaining('all.yaml:17:7: warning: spec: has no target'),
      'all.yaml:17:35: spec.defaul_agent: unknown key; did you mean default_agent?',
      'all.yaml:17:49: a value that begins with * is an alias in YAML, and no anchor (&) of its name precedes it; put the value in quotes, if it is text',
    ]);
  });

  test('with a syntax error report only this error', async () => {
    folder.write('a.yaml', 'kind: Trigger\nspec: [\n');
    folder.write('b.yaml', `${manual('b')}---\nkind: "x\n`);
    folder.write('c.yaml', `${agent('echo')}`);
    const { triggers, agents, lines } = await folder.load({ triggers: folder.path });
    expect(lines.every((line) => line.includes('YAML syntax'))).toBe(true);
    expect(lines.map((line) => line.slice(0, 6))).toEqual(expect.arrayContaining(['a.yaml', 'b.yaml']));
    expect(triggers).toEqual([]);
    expect(agents).toHaveLength(1);
  });

  test('with a duplicate key are ignored', async () => {
    const { triggers, errors } = await folder.loadText(`${manual('t')}kind: Trigger\n`);
    expect(errors).toEqual(['t.yaml:5:1: duplicate key "kind", already used on line 2']);
    expect(triggers).toEqual([]);
  });

  test('without content cause a warning', async () => {
    folder.write('a.yaml', '');
    folder.write('b.yaml', '# nothing\n---\n');
    expect((await folder.load({ triggers: folder.path })).lines).toEqual([
      'a.yaml:1:1: warning: the file is empty; expected a Trigger, an Agent, a Fleet or a Flow',
      'b.yaml:1:1: warning: the file is empty; expected a Trigger, an Agent, a Fleet or a Flow',
    ]);
  });

  test('that are missing or not text are reported', async () => {
    folder.write('a.yaml', new Uint8Array([0xff, 0xfe]));
    mkdirSync(join(folder.path, 'b.yaml'));
    const { lines } = await folder.load({
      triggers: folder.path,
      files: [join(folder.path, 'gone'), join(folder.path, 'a.yaml/x')],
    });
    expect(lines).toEqual([
      'gone:1:1: no such file or folder',
      'a.yaml/x:1:1: no such file or folder',
      'a.yaml:1:1: the file is not UTF-8 text (line 1, column 1)',
      'b.yaml:1:1: this is a folder, not a file',
    ]);
  });
});

describe('variables in resources', () => {
  test('may contain the type of a trigger', async () => {
    const text = manual('t').replace('type: Manual', 'type: "${TYPE}"');
    const { triggers, lines } = await folder.loadText(text, { env: { TYPE: 'Manual' } });
    expect(lines).toEqual([]);
    expect(triggers[0]?.type).toBe('Manual');
    const near = await folder.loadText(text, { env: { TYPE: 'Manuel' } });
    expect(near.errors).toEqual(['t.yaml:4:15: spec.type: unknown type; did you mean Manual?']);
    expect((await folder.loadText(text)).errors.join()).toContain('variable TYPE is not set');
  });

  const text = triggerText('HTTP', 'webhook_secret: "${SECRET}", path: "/${PLACE}"');

  test('are replaced, and their values are secrets', async () => {
    const env = { SECRET: 'a-secret-of-it', PLACE: 'hooks' };
    const { triggers, lines, secrets } = await folder.loadText(text, { env });
    expect(lines).toEqual([]);
    expect(triggers[0]?.config).toMatchObject({ webhook_secret: 'a-secret-of-it', path: '/hooks' });
    expect(secrets).toEqual(['a-secret-of-it']);
  });

  test('that are not set are an error', async () => {
    const { triggers, errors } = await folder.loadText(text);
    expect(errors).toEqual([
      't.yaml:6:30: spec.config.webhook_secret: the environment variable SECRET is not set; set it',
      't.yaml:6:50: spec.config.path: the environment variable PLACE is not set; set it, or give a default: ${PLACE:-default}',
    ]);
    expect(triggers).toEqual([]);
  });

  test('that are not set are a warning in a lenient check, and the rest is checked', async () => {
    const { lines, errors } = await folder.loadText(text.replace('path: "/', 'methods: [GETT], path: "/'), {
      isLenient: true,
    });
    expect(lines.filter((line) => line.includes('warning: '))).toHaveLength(2);
    expect(errors).toEqual([
      't.yaml:6:52: spec.config.methods[0]: expected one of GET, POST, PUT, PATCH, DELETE, found "GETT"',
    ]);
  });

  test('that are not set count as configured sender verification in a lenient check', async () => {
    for (const config of ['webhook_secret: "${GONE}"', 'required_headers: { Authorization: "${GONE}" }']) {
      const { errors } = await folder.loadConfig('HTTP', config, { isLenient: true });
      expect(errors).toEqual([]);
    }
    expect(
      (await folder.loadConfig('HTTP', 'required_headers: {}', { isLenient: true })).errors,
    ).toHaveLength(1);
  });

  test('with an invalid reference are an error, also in a lenient check', async () => {
    const { errors } = await folder.loadText(text.replace('${PLACE}', '${PLACE'), { isLenient: true });
    expect(errors).toEqual([expect.stringContaining('does not begin a reference')]);
  });

  test('never show their values in a message', async () => {
    const env = { E: 'hush-e4x7k2m9', S: 'hush-s8w3q1z5' };
    const { errors } = await folder.loadText(
      triggerText(
        'RepoHost',
        'webhook_secret: "${S}", repo_events: ["${E}"], branches: ["${S} x"]',
        '  default_agent: "${E}"',
      ),
      { env },
    );
    expect(errors).toHaveLength(3);
    expect(errors.join('\n')).not.toContain('hush');
  });

  test('are recommended instead of a literal secret', async () => {
    const { trigger, lines, secrets } = await folder.loadConfig('HTTP', 'webhook_secret: written-out');
    expect(lines).toEqual([
      't.yaml:6:29: warning: spec.config.webhook_secret: is a literal secret; move it to the environment and write ${NAME}',
    ]);
    expect(trigger).toBeDefined();
    expect(secrets).toEqual(['written-out']);
  });
});

describe('agents named by triggers', () => {
  test('must exist', async () => {
    folder.write('t.yaml', manual('t', 'default_agent: echo'));
    const { triggers, errors } = await folder.load({ triggers: folder.path });
    expect(errors).toEqual(['t.yaml:4:50: spec.default_agent: there is no agent echo']);
    expect(triggers).toEqual([]);
  });

  test('may be missing in a lenient check without any agents', async () => {
    const file = folder.write('t.yaml', manual('t', 'default_agent: echo'));
    const lenient = await folder.load({ files: [file], isLenient: true });
    expect(lenient.lines).toEqual(['t.yaml:4:50: warning: spec.default_agent: there is no agent echo']);
    expect(lenient.triggers).toHaveLength(1);
    const other = folder.write('a.yaml', agent('other'));
    expect((await folder.load({ files: [file, other], isLenient: true })).errors).toHaveLength(1);
  });

  test('count as existing if they have errors', async () => {
    folder.write('a.yaml', agent('echo', 'zebra: 1, model: "a:b"'));
    folder.write('t.yaml', manual('t'));
    expect((await folder.load({ triggers: folder.path })).errors).toEqual([
      'a.yaml:4:9: spec.zebra: unknown key',
    ]);
  });

  test("may come from the gateway's default_agent, which is checked if a trigger needs it", async () => {
    folder.write('a.yaml', agent('echo'));
    folder.write('t.yaml', manual('t', 'enabled: true'));
    folder.write('u.yaml', manual('u', 'default_agent: echo'));
    const good = await folder.load({ triggers: folder.path, defaultAgent: 'echo' });
    expect(good.lines).toEqual([]);
    expect(good.triggers.map(({ default_target }) => default_target?.name)).toEqual(['echo', 'echo']);
    const bad = await folder.load({ triggers: folder.path, defaultAgent: 'echos' });
    expect(bad.errors).toEqual([
      't.yaml:4:7: spec: there is no agent echos; did you mean echo?, the default_agent of the gateway file',
    ]);
  });
});

describe('several resources', () => {
  const env = { SECRET: 'a-secret-of-it', OTHER: 'another-secret' };
  const http = (name: string, config: string, more = 'default_agent: echo') =>
    `apiVersion: a/v1\nkind: Trigger\nmetadata: { name: ${name} }\nspec: { type: HTTP, config: { ${config} }, ${more} }\n`;
  const together = (...texts: string[]) => folder.loadText([...texts, ''].join('---\n'), { env });
  const signed = 'webhook_secret: "${SECRET}"';

  test('have unique names within their kind', async () => {
    const { errors } = await together(manual('a'), agent('a'), manual('a'));
    expect(errors).toEqual(['t.yaml:13:19: metadata.name: duplicate Trigger a, already defined in t.yaml:3']);
  });

  test('that are triggers of different types cannot share a webhook path', async () => {
    const repo = http('b', `${signed}, path: /in`).replace('HTTP', 'RepoHost');
    const { errors } = await together(http('a', `${signed}, path: /in`), repo);
    expect(errors).toEqual(['t.yaml:9:70: spec.config.path: trigger a of type HTTP already has this path']);
    expect((await together(http('a', `${signed}, path: /in, port: 9000`), repo)).lines).toEqual([]);
    expect(
      (await together(http('a', `${signed}, path: /in`, 'default_agent: echo, enabled: false'), repo)).lines,
    ).toEqual([]);
  });

  const tie = [
    't.yaml:8:19: warning: metadata.name: trigger a accepts the same events; a receives them, by order of names',
  ];
  test.each([
    ['the same secret', http('b', signed), tie],
    ['another secret', http('b', 'webhook_secret: "${OTHER}"'), []],
    ['another path', http('b', `${signed}, path: /b`), []],
    ['another port', http('b', `${signed}, port: 9000`), []],
    ['other methods', http('b', `${signed}, methods: [PUT]`), []],
    ['overlapping methods', http('b', `${signed}, methods: [PUT, POST]`), tie],
    ['another scheme', http('b', `${signed}, signature_header: X-Other`), []],
    [
      'an equal previous secret',
      http('b', 'webhook_secret: "${OTHER}", webhook_secret_previous: "${SECRET}"'),
      tie,
    ],
    ['an additional header', http('b', `${signed}, required_headers: { X-Kind: b }`), tie],
    ['only commands', http('b', signed, 'commands: { x: { agent: echo } }'), []],
  ])(
    'that are triggers, the second with %s, cause a warning if both accept the same events',
    async (_, other, expected) => {
      expect((await together(http('a', signed), other)).lines).toEqual(expected);
    },
  );

  test('with the same name cause only the error about this name', async () => {
    expect((await together(http('a', signed), http('a', signed))).lines).toEqual([
      expect.stringContaining('duplicate Trigger a'),
    ]);
  });

  test('that are triggers with the same secret cause no warning if no event can have the headers of both', async () => {
    const kind = (name: string) => http(name, `${signed}, required_headers: { X-Kind: ${name}, X-Any: "*" }`);
    expect((await together(kind('a'), kind('b'))).lines).toEqual([]);
  });

  test.each([
    ['repositories: [a/*]', 'repositories: [b/*]', 0],
    ['repositories: [a/*]', 'repositories: [a/*]', 1],
    ['repositories: [a/*]', 'repositories: [A/b]', 1],
    ['repositories: [a/bc*]', 'repositories: [a/b]', 0],
    ['repositories: [a/*-web]', 'repositories: [a/*-api, a/x]', 0],
    ['repo_events: [push, issues]', 'repo_events: [issues, push]', 1],
    ['repo_events: [pull_request]', 'repo_events: [pull_request.opened]', 1],
    ['repo_events: [pull_request.closed]', 'repo_events: [pull_request.opened, push]', 0],
    ['branches: [main]', '', 1],
    ['branches: [main], repo_events: [push]', 'branches: [Main]', 0],
    ['branches: [main], repo_events: [push]', 'branches: [main]', 1],
    // Both triggers accept an issue, which has no branch, and a commit that is on both branches.
    ['branches: [main]', 'branches: [Main]', 1],
    ['branches: [main], repo_events: [issues.opened]', 'branches: [next], repo_events: [issues]', 1],
    ['branches: [main], repo_events: [issues.opened]', 'branches: [next], repo_events: [issues.closed]', 0],
    ['branches: [main], repo_events: [push, status]', 'branches: [next], repo_events: [push, status]', 1],
    ['branches: [main], repo_events: [push, release]', 'branches: [next], repo_events: [push, status]', 0],
    ['branches: ["**"]', 'branches: [release/*]', 1],
  ])(
    'that are RepoHost triggers with %s and %s cause %i warnings that both accept the same event',
    async (first, two, count) => {
      const repo = (name: string, config: string) =>
        http(name, `${signed}${config === '' ? '' : `, ${config}`}`).replace('HTTP', 'RepoHost');
      expect((await together(repo('a', first), repo('b', two))).lines).toHaveLength(count);
    },
  );

  test.each([
    ['push: { agent: echo }', 0],
    ['pull_request.opened: { agent: echo }', 0],
    ['issues.opened: { agent: echo }', 1],
    ['push: { agent: echo }, release: { agent: echo }', 1],
  ])(
    'that are RepoHost triggers with different branches and the commands %s cause %i warnings',
    async (commands, count) => {
      const repo = (name: string, branch: string) =>
        http(name, `${signed}, branches: [${branch}]`, `commands: { ${commands} }`).replace(
          'HTTP',
          'RepoHost',
        );
      expect((await together(repo('a', 'main'), repo('b', 'next'))).lines).toHaveLength(count);
    },
  );
});

describe('settings of a platform', () => {
  const env = { SECRET: 'a-secret-of-it' };

  test('are defaults for its triggers, which can override them', async () => {
    const platforms = {
      repohost: {
        webhook_path: '/hooks/repos',
        webhook_secret: 'given-by-platform',
        ignore_senders: ['bot'],
        token: undefined,
      },
    };
    const { trigger, lines } = await folder.loadConfig('RepoHost', '', { platforms });
    expect(lines).toEqual([]);
    expect(trigger?.config).toMatchObject({
      path: '/hooks/repos',
      webhook_secret: 'given-by-platform',
      ignore_senders: ['bot'],
      token: undefined,
    });
    const own = await folder.loadConfig('RepoHost', 'webhook_secret: "${SECRET}", path: /mine', {
      platforms,
      env,
    });
    expect(own.trigger?.config).toMatchObject({ path: '/mine', webhook_secret: 'a-secret-of-it' });
  });

  test('may contain required fields', async () => {
    const { errors } = await folder.loadConfig('ChatWorkspace', '', {
      platforms: { chatworkspace: { bot_token: 'xoxb-1', signing_secret: 'x' } },
    });
    expect(errors).toEqual([]);
  });

  test('may disable all its triggers', async () => {
    const { trigger } = await folder.loadConfig('Manual', '', { platforms: { manual: { enabled: false } } });
    expect(trigger?.enabled).toBe(false);
  });
});

describe('the hash of a resource', () => {
  const hashOf = async (text: string, env = {}) => (await folder.loadText(text, { env })).triggers[0]?.hash;

  test('depends on the settings and values of variables, not on comments, order or explicit defaults', async () => {
    const text = triggerText('HTTP', 'webhook_secret: "${SECRET}", path: /a');
    const first = await hashOf(text, { SECRET: 'a-secret-of-it' });
    expect(first).toBeDefined();
    expect(await hashOf(`# a note\n${text}`, { SECRET: 'a-secret-of-it' })).toBe(first);
    expect(
      await hashOf(
        text.replace(
          '{ webhook_secret: "${SECRET}", path: /a }',
          '{ path: /a, methods: [POST], webhook_secret: "${SECRET}" }',
        ),
        { SECRET: 'a-secret-of-it' },
      ),
    ).toBe(first);
    expect(await hashOf(text, { SECRET: 'another-secret' })).not.toBe(first);
    expect(await hashOf(text.replace('/a', '/b'), { SECRET: 'a-secret-of-it' })).not.toBe(first);
  });
});
