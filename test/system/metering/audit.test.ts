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

  // Without recosts a wrong cost is verified at once, because nothing could still change it.
  it('names the one row with a cost changed in its last digit, and the month that no longer adds up', {
    timeout: 180_000,
  }, async () => {
    await using other = await openAudit(
      optionsOf(['--records', '300', '--kills', '0', '--locations', '4', ...left]),
      () => undefined,
    )
    const { load, alter, verify } = other
    await load()
    expect(isClean(await verify())).toBe(true)
    const id = await alter()
    const verdict = await verify()
    const rows = verdict.differences.filter(({ kind }) => kind !== 'sum')
    expect(rows).toMatchObject([{ kind: 'cost', subject: expect.stringContaining(id) }])
    expect(verdict.differences.length).toBeGreaterThan(rows.length)
    expect(isClean(verdict)).toBe(false)
  })

  it('exits with code 1 if a row is not the expected row', { timeout: 180_000 }, () => {
    const of = ['test/audit/audit.ts', '--records', '200', '--kills', '0', '--locations', '2', '--alter', ...left]
    const { status, stdout, stderr } = spawnSync(process.execPath, of, { encoding: 'utf8' })
    expect(stderr).toBe('')
    expect(stdout).toMatch(/wrong cost\s+1\n/)
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
