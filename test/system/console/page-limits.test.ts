import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { Client } from '../../support/system/client.ts'
import { bought, makeOne, priceSchedule } from '../../support/system/home.ts'
import { inParallel } from '../../support/system/in-parallel.ts'
import { useSystem } from '../../support/system/use-system.ts'
import { signIn, type Visitor } from '../../support/web/console-visitor.ts'
import { kindOfPage } from '../../support/web/crawl.ts'

const isLarge = process.env['CONSOLE_RECORDS'] !== undefined
const recordCount = Number(process.env['CONSOLE_RECORDS'] ?? 4_000)
const locationCount = Number(process.env['CONSOLE_LOCATIONS'] ?? 40)
const maxBytes = 100_000
const maxCpuMs = 100
const [width, batchSize, assignmentSize, rounds] = [12, 10_000, 1_000, 5]
const hourMs = 3_600_000
const clockTickMs = 10

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

/** `firstCpuMs`: the first time, when the sums of the period are not cached. `cpuMs`: mean of the times after it. */
type Measured = {
  readonly kind: string
  readonly text: string
  readonly bytes: number
  readonly wallMs: number
  readonly firstCpuMs: number
  readonly cpuMs: number
}

const fill = async (client: Client): Promise<void> => {
  const plan = await makeOne(client, '/plans', {
    ...{ name: 'All sites', currency_code: 'EUR' },
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

/** Load a page once, then several times. Returns its text as well. */
const measure = async (visitor: Visitor, pid: number, kind: string, path: string): Promise<Measured> => {
  const walls: number[] = []
  const cpuAtStart = cpuOf(pid)
  const { text } = await visitor.get(path)
  const cpuBefore = cpuOf(pid)
  for (let round = 0; round < rounds; round += 1) {
    const before = performance.now()
    await visitor.get(path)
    walls.push(performance.now() - before)
  }
  const cpuMs = (cpuOf(pid) - cpuBefore) / rounds
  const bytes = Buffer.byteLength(text)
  return { kind, text, bytes, wallMs: Math.min(...walls), firstCpuMs: cpuBefore - cpuAtStart, cpuMs }
}

describe('the pages of the console', () => {
  const system = useSystem()

  it(`are small and fast with ${recordCount} records of ${locationCount} locations`, {
    timeout: 3_600_000,
  }, async () => {
    await fill(await system.login())
    const { base_url: base, account_id: account, test_key: key } = system.sandbox()
    const visitor = await signIn(base, account, key)
    const pid = system.running().process.pid ?? 0
    const measured: Measured[] = []
    const waiting = ['/console', '/console/find?query=site', '/console/overview/costs?zone=UTC&currencies=EUR']
    const known = new Set<string>()
    for (let path = waiting.shift(); path !== undefined; path = waiting.shift()) {
      const kind = kindOfPage(base + path)
      if (known.has(kind) || kind.startsWith('/console/assets') || path.includes('csv=')) continue
      known.add(kind)
      const page = await measure(visitor, pid, kind, path)
      measured.push(page)
      for (const [, href = ''] of page.text.matchAll(/href="(\/console[^"#]*)"/g))
        waiting.push(href.replaceAll('&amp;', '&'))
    }
    const byCpu = measured.toSorted((a, b) => b.cpuMs - a.cpuMs)
    const lines = byCpu.map(
      ({ kind, bytes, wallMs, firstCpuMs, cpuMs }) =>
        `${kind.padEnd(44)} ${(bytes / 1_000).toFixed(1).padStart(6)} kB ${firstCpuMs.toFixed(0).padStart(5)} first ${cpuMs.toFixed(0).padStart(5)} ms CPU ${wallMs.toFixed(0).padStart(6)} ms`,
    )
    process.stdout.write(`${lines.join('\n')}\n`)
    expect(measured.length).toBeGreaterThan(40)
    expect(measured.filter(({ bytes }) => bytes > maxBytes).map(({ kind }) => kind)).toEqual([])
    if (isLarge) expect(measured.filter(({ cpuMs }) => cpuMs > maxCpuMs).map(({ kind }) => kind)).toEqual([])
  })
})
