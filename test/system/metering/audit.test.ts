import { spawnSync } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type AuditOptions, OptionError, parseOptions } from '../../audit/options.ts'
import { isClean } from '../../audit/report.ts'
import { type Audit, openAudit } from '../../audit/run-audit.ts'

const left = ['--without', 'repricing,estimates,registers']
const words = ['--records', '1000', '--kills', '1', '--locations', '10', '--seed', '3']

const optionsOf = (of: readonly string[]): AuditOptions => {
  const options = parseOptions(of)
  if (options === null) throw new Error('asks for help')
  return options
}

let audit: Audit | undefined

beforeAll(async () => {
  audit = await openAudit(optionsOf(words), () => undefined)
  await audit.load()
}, 120_000)

afterAll(() => audit?.[Symbol.asyncDispose]())

const running = (): Audit => {
  if (audit === undefined) throw new Error('no audit is open')
  return audit
}

const noDifferences = {
  missing: 0,
  duplicates: 0,
  unexpected: 0,
  'wrong energy': 0,
  'wrong cost': 0,
  'wrong sums': 0,
  'wrong receipts': 0,
  'wrong answers': 0,
  'dead letters': 0,
  'failed stops': 0,
}

/** Read the counts of the differences of each kind that the program prints. */
const countsOf = (output: string): Readonly<Record<string, number>> =>
  Object.fromEntries(
    Object.keys(noDifferences).map(kind => [kind, Number(new RegExp(`^ *${kind} +(\\d+)$`, 'm').exec(output)?.[1])]),
  )

describe('the audit', () => {
  it('finds no difference in a system that was killed during its work', { timeout: 180_000 }, async () => {
    const { progress, verify } = running()
    const verdict = await verify()
    expect(verdict.differences).toEqual([])
    expect(isClean(verdict)).toBe(true)
    expect(progress.faults).toHaveLength(1)
    expect(verdict.expected).toBeGreaterThan(900)
    expect(verdict.found).toBe(verdict.expected)
    expect(verdict.pieces).toBeGreaterThan(verdict.expected)
    expect(verdict.unpriced).toBeGreaterThan(0)
    expect(verdict.receipts).toBeGreaterThan(20)
    expect(verdict.summaries.recordSummary.operations).toMatchObject({ failed: 0, unknown: 0 })
  })

  // Without recosts a wrong cost is verified at once, because nothing could still change it. The program alters a row only
  // if the first verification finds no difference.
  it('names the one row with a cost changed in its last digit, and the month that no longer adds up, and exits with code 1', {
    timeout: 180_000,
  }, () => {
    const of = ['test/audit/audit.ts', '--records', '200', '--kills', '0', '--locations', '4', '--alter', ...left]
    const { status, stdout, stderr } = spawnSync(process.execPath, of, { encoding: 'utf8' })
    expect(stderr).toBe('')
    const [, id = 'no row'] = /(mre_\w+) was altered on purpose/.exec(stdout) ?? []
    expect(stdout).toMatch(new RegExp(`wrong cost  the first 1 of 1\\s+✗ ${id} `))
    expect(countsOf(stdout)).toEqual({ ...noDifferences, 'wrong cost': 1, 'wrong sums': 1 })
    expect(status).toBe(1)
  })
})

describe('the arguments of the audit', () => {
  it('have default values', () => {
    expect(parseOptions([])).toMatchObject({
      records: 200_000,
      kills: 12,
      seed: 1,
      connections: 4,
      locations: 40,
      isDataRetained: false,
    })
    expect(parseOptions(['--help'])).toBeNull()
    expect(parseOptions(['--bulk'])).toMatchObject({ isDistributed: true, records: 1_000_000, kills: 14 })
    expect(optionsOf(left).without).toEqual(new Set(['repricing', 'estimates', 'registers']))
  })

  it.each([[['--records', '99']], [['--kills', 'x']], [['--without', 'kills']], [['--fast']], [['--bulk', '--alter']]])(
    '%j are refused',
    given => {
      expect(() => parseOptions(given)).toThrow(OptionError)
    },
  )
})
