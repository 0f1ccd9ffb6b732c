import { globSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import {
  boundaryViolations,
  crowdedFolders,
  literalSpreads,
  oversizedFiles,
  type Source,
} from './support/repository/import-boundaries.ts'
import { importCircles } from './support/repository/import-circles.ts'
import { brokenLinks, brokenSources, type LinkedFile, type LinkTargets, sourcesOf } from './support/repository/links.ts'
import { countExpressions, slowExpressions } from './support/repository/regular-expressions.ts'

const sources: readonly Source[] = globSync('services/**/*.{ts,mjs}').map(path => ({
  path,
  text: readFileSync(path, 'utf8'),
}))

/** Files of the clients that are written by hand. */
const clients: readonly Source[] = globSync('clients/{generate,*/{src,wattledger,examples}}/**/*.{ts,py}', {
  exclude: ['**/generated/**'],
}).map(path => ({ path, text: readFileSync(path, 'utf8') }))

const tests: readonly Source[] = globSync('test/**/*.{ts,mjs}').map(path => ({
  path,
  text: readFileSync(path, 'utf8'),
}))

describe('the house', () => {
  it('has walls that no import passes', () => {
    expect(sources.length).toBeGreaterThan(10)
    expect(boundaryViolations(sources)).toEqual([])
  })

  it('has no circle of imports', () => {
    expect(importCircles([...sources, ...tests])).toEqual([])
  })

  it('has no file over 350 lines', () => {
    expect(oversizedFiles([...sources, ...tests, ...clients])).toEqual([])
  })

  it('spreads no object literal', () => {
    expect(literalSpreads([...sources, ...tests, ...clients])).toEqual([])
  })

  it('has clients that import nothing of the service', () => {
    expect(clients.length).toBeGreaterThan(10)
    expect(clients.filter(({ text }) => /from '[^']*\b(?:services|test)\//.test(text))).toEqual([])
    // The published runtime has no packages.
    const runtime = clients.filter(({ path }) => path.startsWith('clients/typescript/src/'))
    expect(runtime.filter(({ text }) => /from '(?!\.|node:)/.test(text)).map(({ path }) => path)).toEqual([])
  })

  it('has one file for each number of a migration', () => {
    const numbers = globSync('schemas/*/[0-9]*.sql').map(path => path.slice(0, path.indexOf('_')))
    expect(numbers.length).toBeGreaterThan(30)
    expect(numbers.filter((number, index) => numbers.indexOf(number) !== index)).toEqual([])
  })

  it('has no folder with more than 25 files', () => {
    expect(
      crowdedFolders(
        globSync('{services,test,deploy,schemas,docs,clients}/**/*.*', {
          exclude: ['**/{node_modules,generated,dist,.venv}/**'],
        }),
      ),
    ).toEqual([])
  })
})

describe('the walls stop', () => {
  const planted: readonly (readonly [string, string, string])[] = [
    ['a domain that looks up', 'services/domain/x.ts', "import { a } from '../contract/error.ts'"],
    ['a domain with a package', 'services/domain/x.ts', "import { z } from 'zod'"],
    ['a domain with Node', 'services/domain/record/x.ts', "import { hash } from 'node:crypto'"],
    ['a role in another role', 'services/cost-worker/x.ts', "import type { A } from '../ingest-gateway/a.ts'"],
    ['a role that knows Connect', 'services/query-service/x.ts', "import { a } from '../connect/domain/page.ts'"],
    ['a contract that knows Connect', 'services/contract/x.ts', "import { a } from '../connect/contract/a.ts'"],
    ['a domain of a wing with Node', 'services/connect/domain/x.ts', "import { hash } from 'node:crypto'"],
    [
      'a domain of a wing with a platform',
      'services/connect/domain/x.ts',
      "import { a } from '../../platform/clock.ts'",
    ],
    ['pages that know the console', 'services/web/x.ts', "import { a } from '../console/open.ts'"],
    [
      'a platform that knows a resource',
      'services/platform/http/x.ts',
      "import { customer } from '../../contract/customer.ts'",
    ],
    [
      'an import of readings that knows a role',
      'services/interchange/platform/x.ts',
      "import { a } from '../../query-service/open.ts'",
    ],
    [
      'a gateway that knows CSV files',
      'services/ingest-gateway/x.ts',
      "import { a } from '../interchange/platform/csv.ts'",
    ],
    ['a domain that knows files', 'services/domain/x.ts', "import { a } from '../interchange/domain/reading.ts'"],
    ['a package away from home', 'services/query-service/x.ts', "import { Pool } from 'pg'"],
    ['a package without a home', 'services/query-service/x.ts', "export { a } from 'left-pad'"],
    ['a dynamic import', 'services/query-service/x.ts', "const a = await import('lmdb')"],
    ['an import over several lines', 'services/domain/x.ts', "import {\n  a,\n  b,\n} from 'zod'"],
    ['tests in the product', 'services/domain/x.ts', "import { a } from '../../test/support/walls.ts'"],
    ['ambient time', 'services/cost-worker/x.ts', 'const at = Date.now()'],
    ['the present date', 'services/platform/x.ts', 'const at = new Date()'],
    ['chance', 'services/platform/ids/new-id.ts', 'const a = Math.random()'],
    [
      'a server past the bounds of connections',
      'services/platform/telemetry/metrics.ts',
      "import { createServer } from 'node:http'",
    ],
    ['ambient settings', 'services/platform/x.ts', 'const a = process.env.A'],
  ]

  it.each(planted)('%s', (_, path, text) => {
    expect(boundaryViolations([{ path, text }])).toHaveLength(1)
  })

  it('a circle of imports', () => {
    const circle: readonly Source[] = [
      { path: 'services/a.ts', text: "import { b } from './domain/b.ts'" },
      { path: 'services/domain/b.ts', text: "import type { C } from './c.ts'" },
      { path: 'services/domain/c.ts', text: "export { a } from '../a.ts'" },
    ]
    expect(importCircles(circle)).toEqual([
      'services/a.ts -> services/domain/b.ts -> services/domain/c.ts -> services/a.ts',
    ])
    expect(importCircles(circle.slice(0, 2))).toEqual([])
  })

  it('a spread of an object literal', () => {
    const spread = (value: string): Source => ({ path: 'services/domain/x.ts', text: `const one = { ...${value}, c }` })
    expect(literalSpreads([spread('{ a, b }')])).toHaveLength(1)
    expect(literalSpreads([spread('ab')])).toEqual([])
  })

  it('a file of 351 lines', () => {
    expect(oversizedFiles([{ path: 'services/domain/x.ts', text: 'a\n'.repeat(351) }])).toHaveLength(1)
    expect(oversizedFiles([{ path: 'services/domain/x.ts', text: 'a\n'.repeat(350) }])).toEqual([])
  })
})

describe('a folder', () => {
  it('of 26 files is found', () => {
    const paths = Array.from({ length: 26 }, (_, index) => `services/platform/${index}.ts`)
    expect(crowdedFolders(paths)).toEqual(['services/platform/'])
    expect(crowdedFolders(paths.slice(1))).toEqual([])
  })
})

describe('regular expressions', () => {
  const all: readonly Source[] = globSync('{services,deploy,test,schemas,clients}/**/*.{ts,mjs,js}', {
    exclude: ['**/{node_modules,generated,dist,.venv}/**'],
  }).map(path => ({
    path,
    text: readFileSync(path, 'utf8'),
  }))

  it('take linear time for all texts', () => {
    expect(countExpressions(all)).toBeGreaterThan(400)
    expect(slowExpressions(all)).toEqual([])
  })

  const planted: readonly (readonly [string, string, RegExp])[] = [
    [
      'a run at the end that is tried from each of its characters',
      "const a = text.replace(/0+$/, '')",
      /:1 .*polynomial/,
    ],
    ['two runs that share a text', 'const a = /^d+.?d*$/', /polynomial/],
    ['a repeated repetition', 'const a = /^(?:a+)+$/', /exponential/],
    ['a pattern in a text', "const a = new RegExp('x+$', 'u')", /polynomial/],
    [
      'a pattern that is put together',
      'const part = "a*"\nconst a = new RegExp("^" + part + part + "$")',
      /:2 .*polynomial/,
    ],
    ['a call without new', 'const a = RegExp("(b+c?)*d")', /exponential/],
    ['a text that becomes a pattern', "const a = text.search('x+$')", /polynomial/],
  ]

  it.each(planted)('are found where they are slow: %s', (_, text, found) => {
    expect(slowExpressions([{ path: 'services/x.ts', text }])).toEqual([expect.stringMatching(found)])
  })
})

describe('links', () => {
  const filesOf = (pattern: string): readonly LinkedFile[] =>
    globSync(pattern, { exclude: ['**/{node_modules,generated,dist,.venv}/**', 'data/**'] }).map(path => ({
      path,
      text: readFileSync(path, 'utf8'),
    }))
  const pages = filesOf('**/*.md')
  const commented = filesOf('{services,test,deploy,schemas,clients}/**/*.{ts,js,mjs,css,sql,yaml}')
  const inFolders = globSync(['{docs,services,test,deploy,schemas}/**', 'clients/*/*', '{LICENSE,NOTICE}'])
  const targets: LinkTargets = {
    pages: new Map(pages.map(({ path, text }) => [path, text])),
    paths: new Set([...inFolders, ...pages.map(({ path }) => path)]),
  }

  it('in Markdown files lead to files and headings of the repository', () => {
    expect(pages.length).toBeGreaterThan(20)
    expect(pages.flatMap(page => brokenLinks(page, targets))).toEqual([])
  })

  it('of docs/README.md lead to each page of docs/, because its tables are the navigation of the served pages', () => {
    const index = targets.pages.get('docs/README.md') ?? ''
    const paths = [...targets.pages.keys()].filter(path => path.startsWith('docs/') && path !== 'docs/README.md')
    const listed = paths.filter(path => index.includes(`](${path.slice('docs/'.length)})`))
    expect(paths.filter(path => !listed.includes(path))).toEqual([])
  })

  it('in the Source lines of comments lead to headings of docs/ or name a standard', () => {
    expect(commented.flatMap(({ text }) => sourcesOf(text)).length).toBeGreaterThan(200)
    expect(commented.flatMap(file => brokenSources(file, targets))).toEqual([])
  })

  const planted: readonly (readonly [string, string])[] = [
    ['a page that does not exist', 'docs/rules/coats.md #buckets'],
    ['a heading that does not exist', 'docs/rules/costs.md #bucket'],
    ['a second heading that does not exist', 'docs/rules/costs.md #buckets, #bucket'],
    ['a second page that does not exist', 'docs/rules/costs.md #buckets;\n * docs/rules/coats.md #buckets'],
    ['a page without a heading', 'docs/rules/costs.md'],
    ['a document outside of the repository', 'contract decisions 9'],
  ]

  it.each(planted)('are found if they are broken: %s', (_, source) => {
    const text = `/**\n * Add costs up.\n * Source: ${source}.\n */`
    expect(brokenSources({ path: 'services/x.ts', text }, targets)).toHaveLength(1)
  })

  it.each([
    'docs/rules/costs.md #buckets, #sessions; docs/promises.md #s6',
    'RFC 9112, 9.6',
    'Standard Webhooks 1.0, https://www.standardwebhooks.com',
  ])('may be %s', source => {
    expect(brokenSources({ path: 'services/x.ts', text: `/** Add costs up. Source: ${source}. */` }, targets)).toEqual(
      [],
    )
  })

  it.each(['rules/coats.md', 'rules/costs.md#bucket', '#bucket', '../service/README.md'])(
    'are found in Markdown: %s',
    target => {
      expect(brokenLinks({ path: 'docs/README.md', text: `See [costs](${target}).` }, targets)).toHaveLength(1)
    },
  )
})
