import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { makeTestFolder } from '../../support/stores/postgres.ts'
import { makeHome } from '../../support/system/home.ts'
import { runCommand } from '../../support/system/run-command.ts'
import { recordsOf } from '../../support/system/stored-costs.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

const system = useSharedSystem()

const write = (lines: readonly string[]): string => {
  const path = join(makeTestFolder(), 'days.csv')
  writeFileSync(path, `${lines.join('\n')}\n`)
  return path
}

const days = ['Datum;Verbrauch kWh', '28.03.2026;24,5', '29.03.2026;23', '30.03.2026;24']

const run = (args: readonly string[], answer?: string) => {
  const questions: string[] = []
  const ask = async (question: string): Promise<string> => {
    questions.push(question)
    return answer ?? ''
  }
  const { base_url: base, test_key: key } = system.sandbox()
  const variables = { WATTLEDGER_API_KEY: key, WATTLEDGER_DATA_DIR: makeTestFolder() }
  const all = ['import', 'readings', ...args, '--base-url', base]
  return runCommand(all, variables, answer === undefined ? undefined : ask).then(done => ({ ...done, questions }))
}

describe('an import without options', () => {
  it('shows the preview and the command, and sends the readings only after a yes', async () => {
    const client = await system.login()
    const location = await makeHome(client, { import: 0.25 })
    const file = write(days)
    for (const answer of [undefined, '', 'no']) {
      const { code, err, questions } = await run([file, '--location', location], answer)
      // A person who says no made no mistake in the arguments.
      expect([code, err.includes('All options')]).toEqual(answer === undefined ? [2, true] : [1, false])
      expect(err).toContain('2026-03-29 IMPORT: 23 kWh')
      expect(err).toContain("--columns 'start=Datum,value=Verbrauch kWh' --unit KWH --date-format dd.MM.yyyy")
      expect(questions).toEqual(answer === undefined ? [] : ['Send these readings? [y/N] '])
    }
    expect(await recordsOf(client, location)).toEqual([])
    expect((await run([file, '--location', location], 'y')).code).toBe(0)
    const stored = (await recordsOf(client, location)).map(({ data }) => [data.start_time, data.energy.value])
    expect(stored.sort()).toEqual([
      ['2026-03-27T23:00:00Z', 24_500],
      ['2026-03-28T23:00:00Z', 23_000],
      ['2026-03-29T22:00:00Z', 24_000],
    ])
    // The command that the preview shows sends the same file without a question.
    const [, shown = ''] = /guessed: npx wattledger (.*)/.exec((await run([file, '--location', location])).err) ?? []
    const words = [...shown.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '')
    const again = await runCommand(words, { WATTLEDGER_API_KEY: system.sandbox().test_key })
    expect([again.code, again.out]).toEqual([0, expect.stringContaining('3 accepted')])
  })

  it('names what the rows do not prove, and sends nothing', async () => {
    const location = await makeHome(await system.login(), { import: 0.25 })
    const file = write(['Time,Type,kWh', '01/02/2026 00:00,Gas,1', '01/02/2026 00:00,Power,2'])
    const { code, err, questions } = await run([file, '--location', location], 'y')
    expect([code, questions]).toEqual([2, []])
    expect(err).toMatch(/day and a month[\s\S]*--where 'Type=Gas'[\s\S]*Begin with: npx wattledger import readings/)
    expect((await run([write(days)], 'y')).err).toContain('Set --location')
  })

  it('shows the guess in a dry run, and asks nothing', async () => {
    const location = await makeHome(await system.login(), { import: 0.25 })
    const { code, out, questions } = await run([write(days), '--location', location, '--dry-run'], 'y')
    expect([code, questions]).toEqual([0, []])
    expect(out).toMatch(/The options were guessed: npx wattledger import readings[\s\S]*2026-03-30 IMPORT: 24 kWh/)
  })
})
