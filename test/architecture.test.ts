import { globSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { countExpressions, slowExpressions } from './support/regular-expressions.ts'
import { breaches, overlong, type Source } from './support/walls.ts'

const sources: readonly Source[] = globSync('services/**/*.{ts,mjs}').map(path => ({ path, text: readFileSync(path, 'utf8') }))

describe('the house', () => {
  it('has walls that no import passes', () => {
    expect(sources.length).toBeGreaterThan(10)
    expect(breaches(sources)).toEqual([])
  })

  it('has no file over 350 lines', () => {
    expect(overlong(sources)).toEqual([])
  })
})

describe('the walls stop', () => {
  const planted: readonly (readonly [string, string, string])[] = [
    ['a domain that looks up', 'services/domain/x.ts', "import { a } from '../contract/error.ts'"],
    ['a domain with a package', 'services/domain/x.ts', "import { z } from 'zod'"],
    ['a domain with Node', 'services/domain/record/x.ts', "import { hash } from 'node:crypto'"],
    ['a role in another role', 'services/cost-worker/x.ts', "import type { A } from '../ingest-gateway/a.ts'"],
    ['a platform that knows a resource', 'services/platform/http/x.ts', "import { customer } from '../../contract/customer.ts'"],
    ['a package away from home', 'services/query-service/x.ts', "import { Pool } from 'pg'"],
    ['a package without a home', 'services/query-service/x.ts', "export { a } from 'left-pad'"],
    ['a dynamic import', 'services/query-service/x.ts', "const a = await import('lmdb')"],
    ['an import over several lines', 'services/domain/x.ts', "import {\n  a,\n  b,\n} from 'zod'"],
    ['tests in the product', 'services/domain/x.ts', "import { a } from '../../test/support/walls.ts'"],
    ['ambient time', 'services/cost-worker/x.ts', 'const at = Date.now()'],
    ['the present date', 'services/platform/x.ts', 'const at = new Date()'],
    ['chance', 'services/platform/mint.ts', 'const a = Math.random()'],
    ['ambient settings', 'services/platform/x.ts', 'const a = process.env.A'],
  ]

  it.each(planted)('%s', (_, path, text) => {
    expect(breaches([{ path, text }])).toHaveLength(1)
  })

  it('a file of 351 lines', () => {
    expect(overlong([{ path: 'services/domain/x.ts', text: 'a\n'.repeat(351) }])).toHaveLength(1)
    expect(overlong([{ path: 'services/domain/x.ts', text: 'a\n'.repeat(350) }])).toEqual([])
  })
})

describe('regular expressions', () => {
  const all: readonly Source[] = globSync('{services,deploy,test,schemas}/**/*.{ts,mjs,js}').map(path => ({
    path,
    text: readFileSync(path, 'utf8'),
  }))

  it('take linear time, whatever text they meet', () => {
    expect(countExpressions(all)).toBeGreaterThan(400)
    expect(slowExpressions(all)).toEqual([])
  })

  const planted: readonly (readonly [string, string, RegExp])[] = [
    ['a run at the end that is tried from each of its characters', "const a = text.replace(/0+$/, '')", /:1 .*polynomial/],
    ['two runs that share a text', 'const a = /^d+.?d*$/', /polynomial/],
    ['a repeated repetition', 'const a = /^(?:a+)+$/', /exponential/],
    ['a pattern in a text', "const a = new RegExp('x+$', 'u')", /polynomial/],
    ['a pattern that is put together', 'const part = "a*"\nconst a = new RegExp("^" + part + part + "$")', /:2 .*polynomial/],
    ['a call without new', 'const a = RegExp("(b+c?)*d")', /exponential/],
    ['a text that becomes a pattern', "const a = text.search('x+$')", /polynomial/],
  ]

  it.each(planted)('are found where they are slow: %s', (_, text, found) => {
    expect(slowExpressions([{ path: 'services/x.ts', text }])).toEqual([expect.stringMatching(found)])
  })
})
