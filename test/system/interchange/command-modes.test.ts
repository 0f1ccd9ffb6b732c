import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { commandsOf } from '../../../services/command-line/command.ts'
import { commandSubjects } from '../../../services/commands.ts'
import { cdrFrame } from '../../support/interchange/cdr-frame.ts'
import { makeTestFolder } from '../../support/stores/postgres.ts'
import { bought, makeHome } from '../../support/system/home.ts'
import { runCommand } from '../../support/system/run-command.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

const commands = commandsOf(commandSubjects)

const system = useSharedSystem()
const folder = makeTestFolder()
const at = (clock: string): string => `2026-03-02T${clock}:00Z`
const span = ['--from', '2026-03-01', '--to', '2026-03-04']
let file = 0
const newFile = (ending: string): string => join(folder, `${++file}.${ending}`)

const run = (args: readonly string[], mode: 'live' | 'test') => {
  const { base_url: baseUrl, live_key: live, test_key: test } = system.sandbox()
  const variables = { WATTLEDGER_API_KEY: mode === 'live' ? live : test, WATTLEDGER_DATA_DIR: folder }
  return runCommand([...args, '--base-url', baseUrl], variables)
}

/** Commands that have --live. */
const withLive = commands.filter(({ options }) => 'live' in options).map(({ name }) => name)

beforeAll(async () => {
  for (const mode of ['test', 'live'] as const) {
    const client = await system.login(mode)
    const home = await makeHome(client, { import: 0.2 })
    const session = (clock: string, until: string, value: number, name = 'Charge 7') =>
      bought(home, value, at(clock), at(until), { session_reference_id: name })
    await client.submit([
      session('08:00', '08:30', mode === 'live' ? 5 : 1),
      session('08:30', '09:00', 2),
      session('12:00', '12:30', 4, 'Charge 8'),
    ])
  }
}, 60_000)

describe('the export of a session', () => {
  it('needs no time and has all its records', async () => {
    const out = newFile('csv')
    const { code, err } = await run(['export', 'records', '--session', 'Charge 7', '--out', out], 'test')
    expect([code, err]).toEqual([0, expect.any(String)])
    const rows = readFileSync(out, 'utf8').trim().split(/\r?\n/)
    expect(rows.length - 1).toBe(2)
    const manifest = JSON.parse(readFileSync(`${out}.manifest.json`, 'utf8')) as { sums: { energy_wh: string } }
    expect(Number(manifest.sums.energy_wh)).toBe(3_000)
  })

  it('keeps a given start or end', async () => {
    const out = newFile('csv')
    const args = ['export', 'records', '--session', 'Charge 7', '--from', at('08:30'), '--out', out]
    expect((await run(args, 'test')).code).toBe(0)
    expect(readFileSync(out, 'utf8').trim().split(/\r?\n/)).toHaveLength(2)
  })

  it('needs no time as a charge detail record either', async () => {
    const [out, frame] = [newFile('json'), newFile('json')]
    writeFileSync(frame, JSON.stringify(cdrFrame))
    const format = ['--format', 'ocpi-cdr-2.2.1', '--frame', frame]
    const { code, err } = await run(['export', 'costs', '--session', 'Charge 7', ...format, '--out', out], 'test')
    expect([code, err]).toEqual([0, expect.any(String)])
    const records = JSON.parse(readFileSync(out, 'utf8')) as { total_energy: number }[]
    expect(records.map(({ total_energy }) => total_energy)).toEqual([3])
  })

  it('is refused for an unknown session, and for a table of costs', async () => {
    const unknown = await run(['export', 'records', '--session', 'No such', '--out', newFile('csv')], 'test')
    expect(unknown).toMatchObject({ code: 1, err: 'wattledger: No stored record has the session "No such".\n' })
    const table = await run(['export', 'costs', '--session', 'Charge 7', '--out', newFile('csv')], 'test')
    expect([table.code, table.err]).toEqual([2, expect.stringContaining('--session needs --format ocpi-cdr')])
  })
})

describe('--live', () => {
  const exports = withLive.filter(name => name.startsWith('export '))
  const imports = withLive.filter(name => name.startsWith('import '))

  it('is an option of the commands that are tested here', () => {
    expect([...imports, ...exports]).toEqual(withLive)
    expect([exports.length, imports.length]).toEqual([5, 5])
  })

  it.each(exports)('is not asked for by %s, which only reads', async name => {
    const out = newFile('csv')
    const { code, err } = await run([...name.split(' '), ...span, '--out', out], 'live')
    expect([code, err]).toEqual([0, expect.any(String)])
    if (name === 'export records') expect(readFileSync(out, 'utf8')).toContain('5')
    const again = await run([...name.split(' '), ...span, '--out', newFile('csv'), '--live'], 'live')
    expect(again.code).toBe(0)
  })

  it.each(imports)('is asked for by %s, with what it does; a dry run writes nothing', async name => {
    const rows = newFile('csv')
    writeFileSync(rows, 'reference_id,timezone,currency_code\nx,Europe/Berlin,EUR\n')
    const location = name === 'import tariffs' ? ['--location', 'x'] : []
    const args = [...name.split(' '), name === 'import undo' ? 'an-import' : rows, ...location]
    const asked = await run(args, 'live')
    expect(asked.code).toBe(2)
    const does = name === 'import undo' ? 'undo changes' : 'import writes'
    expect(asked.err.split('\n')[0]).toBe(
      `wattledger: The key is a live key, so this ${does} live data. Add --live to confirm, or use a test key.`,
    )
    expect((await run([...args, '--dry-run'], 'live')).err).not.toContain('--live to confirm')
  })

  it.each(withLive)('is refused by %s with a test key', async name => {
    const rows = newFile('csv')
    writeFileSync(rows, 'reference_id\nx\n')
    const args = name.startsWith('import ') ? [rows, '--location', 'x'] : [...span, '--out', newFile('csv')]
    const hasNoLocation = ['import locations', 'import devices', 'import undo'].includes(name)
    const known = args.filter((arg, index) => !hasNoLocation || index === 0 || !['--location', 'x'].includes(arg))
    const { code, err } = await run([...name.split(' '), ...known, '--live'], 'test')
    expect([code, err]).toEqual([2, expect.stringContaining('The key is a test key. Leave out --live')])
  })
})
