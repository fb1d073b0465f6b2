// The charts of all flows are valid Mermaid, checked with the part of the grammar that they use. Mermaid
// itself is too large to install for a test; the charts here were checked once with `mermaid.parse` of
// Mermaid 11.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { flowChart } from '../../../../src/cli/views/flow-chart.ts';

type Chart = Parameters<typeof flowChart>[0];
type Node = Chart['nodes'][number];

const node = (id: string, type: string, on_error: string | null = null): Node => ({
  id,
  type: type as Node['type'],
  description: null,
  on_error,
});
const arrow = (from: string, to: string, when: string | null = null) => ({ from, to, when });

test('a flow becomes a chart with shapes by type, labelled conditions, dashed errors and nested loops', () => {
  const inside = { nodes: [node('look', 'HTTP'), node('end', 'End')], connections: [arrow('look', 'end')] };
  const flow: Chart = {
    name: 'deploy',
    nodes: [
      node('check', 'Agent', 'sorry'),
      node('ask', 'Approval'),
      { ...node('poll', 'Loop'), inside },
      node('sorry', 'Response'),
      node('soak', 'Wait'),
    ],
    connections: [
      arrow('check', 'ask', "steps.check.output.data.ok == 'yes' && !x"),
      arrow('ask', 'poll', 'approved'),
      arrow('poll', 'soak'),
    ],
  };
  expect(flowChart(flow)).toBe(`---
title: "deploy"
---
flowchart TD
  n1(["check<br/>Agent"])
  n2{{"ask<br/>Approval"}}
  subgraph n3 ["poll<br/>Loop"]
    n3_1[/"look<br/>HTTP"/]
    n3_2((("end<br/>End")))
    n3_1 --> n3_2
  end
  n4>"sorry<br/>Response"]
  n5["soak<br/>Wait"]
  n1 -->|"steps.check.output.data.ok == 'yes' #38;#38; !x"| n2
  n2 -->|"approved"| n3
  n3 --> n5
  n1 -.->|"on error"| n4
`);
});

const label = String.raw`"(?:[\p{L}\p{N} .,:?!_=+*/()'-]|#\d+;|<br/>)+"`;
const name = String.raw`n\d+(?:_\d+)*`;
const shapes = [
  ...[String.raw`\(\[${label}\]\)`, String.raw`\[\[${label}\]\]`, String.raw`\[/${label}/\]`],
  ...[String.raw`\{\{${label}\}\}`, `>${label}\\]`, String.raw`\{${label}\}`, String.raw`\(\(${label}\)\)`],
  ...[String.raw`\(\(\(${label}\)\)\)`, String.raw`\[${label}\]`],
];
const grammar = [
  new RegExp(`^(?<declared>${name})(?:${shapes.join('|')})$`, 'u'),
  new RegExp(String.raw`^subgraph (?<declared>${name}) \[${label}\]$`, 'u'),
  /^end$/,
  new RegExp(String.raw`^(?<from>${name}) (?:-->|-\.->)(?:\|${label}\|)? (?<to>${name})$`, 'u'),
];

const types = ['Agent', 'Fleet', 'Tool', 'HTTP', 'Approval', 'Response', 'Conditional', 'Parallel', 'Join'];
const anyNode = (id: string, inside?: Chart): fc.Arbitrary<Node> =>
  fc
    .constantFrom(...types, 'Wait', 'Transform', 'End', 'constructor')
    .map((type) => (inside === undefined ? node(id, type) : { ...node(id, 'Loop'), inside }));

const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom(
    'end',
    '"]',
    '-->',
    '%% x',
    '```',
    '<script>',
    '&quot;',
    '#quot;',
    'subgraph',
    '{{ x }}',
    '|',
  ),
);

function anyFlow(depth: number): fc.Arbitrary<Chart> {
  return fc.uniqueArray(text, { minLength: 1, maxLength: 6 }).chain((ids) =>
    fc
      .record({
        nodes: fc.tuple(
          ...ids.map((id, index) =>
            depth > 0 && index === 0
              ? anyFlow(depth - 1).chain((inside) => anyNode(id, inside))
              : anyNode(id),
          ),
        ),
        connections: fc.array(
          fc.record({
            from: fc.constantFrom(...ids),
            to: fc.constantFrom(...ids),
            when: fc.option(text, { nil: null }),
          }),
          { maxLength: 8 },
        ),
        error: fc.option(fc.constantFrom(...ids), { nil: null }),
        name: text,
      })
      .map(({ nodes: [first, ...rest], connections, error, name: title }) => ({
        name: title,
        connections,
        nodes: [{ ...(first as Node), on_error: error }, ...rest],
      })),
  );
}

test('each line of the chart of any flow follows the grammar, and arrows connect declared nodes', () => {
  fc.assert(
    fc.property(anyFlow(2), (flow) => {
      const [begin, title = '', end, head, ...lines] = flowChart(flow).trimEnd().split('\n');
      expect([begin, end, head]).toEqual(['---', '---', 'flowchart TD']);
      expect(JSON.parse(title.replace(/^title: /, ''))).toBeTypeOf('string');
      const declared: string[] = [];
      const usedIds: string[] = [];
      let depth = 0;
      for (const line of lines) {
        const matches = grammar.flatMap((rule) => rule.exec(line.trimStart()) ?? []);
        expect(matches.length, line).toBeGreaterThan(0);
        const groups = grammar.map((rule) => rule.exec(line.trimStart())?.groups).find((each) => each) ?? {};
        if (groups.declared !== undefined) declared.push(groups.declared);
        if (groups.from !== undefined) usedIds.push(groups.from, groups.to ?? '');
        depth += line.trim().startsWith('subgraph ') ? 1 : line.trim() === 'end' ? -1 : 0;
      }
      expect(depth).toBe(0);
      expect(new Set(declared).size).toBe(declared.length);
      expect(usedIds.filter((each) => !declared.includes(each))).toEqual([]);
      expect(flowChart(flow)).toBe(flowChart(flow));
    }),
  );
});
