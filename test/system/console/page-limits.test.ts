import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { Client } from '../../support/system/client.ts'
import { bought, makeOne, priceSchedule } from '../../support/system/home.ts'
import { inParallel } from '../../support/system/in-parallel.ts'
import { useSystem } from '../../support/system/use-system.ts'
import { signIn, type Visitor } from '../../support/web/console-visitor.ts'
import { crawlConsole } from '../../support/web/crawl.ts'

const isLarge = process.env['CONSOLE_RECORDS'] !== undefined
const recordCount = Number(process.env['CONSOLE_RECORDS'] ?? 4_000)
const locationCount = Number(process.env['CONSOLE_LOCATIONS'] ?? 40)
const maxBytes = 100_000
const maxCpuMs = 100
/** Limit of the first load of a page. Other work of the service, such as merges of the engine, can disturb it. */
const maxFirstCpuMs = 150
/** Limit of the first load of the part that adds up a day of the account that was not added up before. */
const maxNewDayCpuMs = 400
const [width, batchSize, assignmentSize, rounds] = [12, 10_000, 1_000, 5]
const hourMs = 3_600_000
const clockTickMs = 10
/** The service warms its pages some seconds after its start. */
const [warmingStartMs, maxWarmingMs, calmShare] = [4_000, 60_000, 0.2]

/** CPU time in ms of a process and its children, such as PostgreSQL. Zero if /proc does not exist. */
const cpuOf = (pid: number): number => {
  const folder = `/proc/${pid}`
  if (!existsSync(`${folder}/stat`)) return 0
  const values = readFileSync(`${folder}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  const own = (Number(values[11]) + Number(values[12])) * clockTickMs
  const children = readdirSync(`${folder}/task`).flatMap(task =>
    readFileSync(`${folder}/task/${task}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
  )
  return children.reduce((sum, child) => sum + cpuOf(child), own)
}

/** `firstCpuMs`: the first load after a start. The other values: loads after it. */
type Measured = {
  readonly kind: string
  readonly bytes: number
  readonly wallMs: number
  readonly firstCpuMs: number
  readonly cpuMs: number
}

const newDaySums = '/console/costs/sums? of a new day'

/** Page that was loaded once. */
type Loaded = Pick<Measured, 'kind' | 'bytes' | 'firstCpuMs'> & { readonly path: string }

const fill = async (client: Client): Promise<void> => {
  const plan = await makeOne(client, '/plans', {
    name: 'All sites',
    currency_code: 'EUR',
    tariffs: [{ direction: 'IMPORT', type: 'COMMODITY', schedule: priceSchedule(0.3) }],
  })
  const names = Array.from({ length: locationCount }, (_, index) => `site-${index}`)
  const ids = await inParallel(names, width, reference_id =>
    makeOne(client, '/locations', { reference_id, timezone: 'Europe/Berlin', currency_code: 'EUR' }),
  )
  for (let from = 0; from < ids.length; from += assignmentSize) {
    const assigned = ids.slice(from, from + assignmentSize)
    const body = assigned.map(location_id => ({ location_id, start_date: '2020-01-01' }))
    await client.ask('POST', `/plans/${plan}/assignments`, body)
  }
  const device = await makeOne(client, '/devices', { reference_id: 'meter-1' })
  const end = Math.floor(Date.now() / hourMs) * hourMs
  // A batch has the records of whole locations: one message for each location and batch is cheap to store.
  const perLocation = Math.ceil(recordCount / locationCount)
  const recordOf = (index: number) => {
    const [place, hour] = [Math.floor(index / perLocation), index % perLocation]
    const start = end - (hour + 1) * hourMs
    const times = [new Date(start).toISOString(), new Date(start + hourMs).toISOString()] as const
    const more = place === 0 ? { device_id: device, session_reference_id: `session-${start}` } : {}
    return bought(ids[place] ?? '', 1 + (index % 7), ...times, more)
  }
  const starts = Array.from({ length: Math.ceil(recordCount / batchSize) }, (_, index) => index * batchSize)
  await inParallel(starts, 2, from => {
    const count = Math.min(batchSize, recordCount - from)
    return client.submit(Array.from({ length: count }, (_, index) => recordOf(from + index)))
  })
}

/** Wait until the service has warmed its pages and uses little CPU time. */
const waitUntilCalm = async (pid: number): Promise<void> => {
  await sleep(warmingStartMs)
  for (let waitedMs = 0; waitedMs < maxWarmingMs; waitedMs += 1_000) {
    const before = cpuOf(pid)
    await sleep(1_000)
    if (cpuOf(pid) - before < calmShare * 1_000) return
  }
}

/**
 * Load one page of each kind that a link leads to, a statement beside which a plan is simulated, and the costs of a day
 * that the service has not warmed.
 */
const loadAll = async (visitor: Visitor, pid: number, base: string): Promise<readonly Loaded[]> => {
  const loaded: Loaded[] = []
  const starts = ['/console', '/console/find?query=site']
  const load = async (kind: string, path: string) => {
    const cpuBefore = cpuOf(pid)
    const { text } = await visitor.get(path)
    loaded.push({ kind, path, bytes: Buffer.byteLength(text), firstCpuMs: cpuOf(pid) - cpuBefore })
    return text
  }
  await crawlConsole(base, starts, load)
  const pathOf = (kind: string) => loaded.find(one => one.kind === kind)?.path ?? expect.fail(`No page ${kind}.`)
  const plan = pathOf('/console/plans/:id').split('/').at(-1)
  const statement = await load('/console/statements? with a plan', `${pathOf('/console/statements?')}&plan=${plan}`)
  const partOf = (text: string): string => /data-load="([^"]*)"/.exec(text)?.[1]?.replaceAll('&amp;', '&') ?? ''
  const simulated = await load('/console/simulations/beside?', partOf(statement))
  expect(simulated).toContain('Lines with All sites')
  const day = new Date(Date.now() - 2 * 24 * hourMs).toISOString().slice(0, 10)
  const costs = await load('/console/costs? of a new day', `/console/costs?from=${day}&to=${day}`)
  expect(await load(newDaySums, partOf(costs))).toContain('id="costs"')
  return loaded
}

/** Load a page several times. */
const measure = async (visitor: Visitor, pid: number, { path, ...page }: Loaded): Promise<Measured> => {
  const walls: number[] = []
  const cpuBefore = cpuOf(pid)
  for (let round = 0; round < rounds; round += 1) {
    const before = performance.now()
    await visitor.get(path)
    walls.push(performance.now() - before)
  }
  return { ...page, wallMs: Math.min(...walls), cpuMs: (cpuOf(pid) - cpuBefore) / rounds }
}

describe('the pages of the console', () => {
  const system = useSystem()

  it(`are small and fast with ${recordCount} records of ${locationCount} locations`, {
    timeout: 3_600_000,
  }, async () => {
    await fill(await system.login())
    const visit = () => signIn(system.sandbox().base_url, system.sandbox().account_id, system.sandbox().test_key)
    await visit()
    await system.killAndStart()
    const pid = system.running().process.pid ?? 0
    await waitUntilCalm(pid)
    const visitor = await visit()
    const measured: Measured[] = []
    for (const page of await loadAll(visitor, pid, system.sandbox().base_url))
      measured.push(await measure(visitor, pid, page))
    const byCpu = measured.toSorted((a, b) => b.cpuMs - a.cpuMs)
    const lines = byCpu.map(
      ({ kind, bytes, wallMs, firstCpuMs, cpuMs }) =>
        `${kind.padEnd(44)} ${(bytes / 1_000).toFixed(1).padStart(6)} kB ${firstCpuMs.toFixed(0).padStart(5)} first ${cpuMs.toFixed(0).padStart(5)} ms CPU ${wallMs.toFixed(0).padStart(6)} ms`,
    )
    process.stdout.write(`${lines.join('\n')}\n`)
    expect(measured.length).toBeGreaterThan(40)
    expect(measured.filter(({ bytes }) => bytes > maxBytes).map(({ kind }) => kind)).toEqual([])
    if (!isLarge) return
    expect(measured.filter(({ cpuMs }) => cpuMs > maxCpuMs).map(({ kind }) => kind)).toEqual([])
    const isSlow = ({ kind, firstCpuMs }: Measured): boolean =>
      firstCpuMs > (kind === newDaySums ? maxNewDayCpuMs : maxFirstCpuMs)
    expect(measured.filter(isSlow).map(({ kind }) => kind)).toEqual([])
  })
})
