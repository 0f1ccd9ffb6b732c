import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { type LmdbLogOptions, openLmdbLog } from '../../../../../services/platform/log/lmdb/lmdb-log.ts'
import type { Log } from '../../../../../services/platform/log/log.ts'
import { recordTopic } from '../../../../../services/platform/log/log.ts'
import { assignmentOf, bounds, describeLog, textMessage } from '../../../../suites/describe-log.ts'
import { mountSmallDisk, unmountDisk } from '../../../../support/stores/small-disk.ts'

const folders: string[] = []
const newFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'wattledger-log-'))
  folders.push(folder)
  return folder
}
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

const openLog = (folder: string, options: Partial<LmdbLogOptions> = {}): Promise<Log> =>
  openLmdbLog({ folder, now: () => Date.now(), ...options })

describeLog('embedded log', async () => {
  const folder = newFolder()
  let log = await openLog(folder)
  return {
    log,
    reopen: async () => {
      await log.close()
      log = await openLog(folder)
      return log
    },
    dispose: () => log.close(),
  }
})

const block = (text: string): Parameters<Log['append']>[2] => ({ ...textMessage(''), value: Buffer.alloc(1_000, text) })

/** Return the bytes of the log that count as memory of this process. */
const mappedBytes = (folder: string): number => {
  const areas = readFileSync('/proc/self/smaps', 'utf8').split(/^(?=[0-9a-f]+-[0-9a-f]+ )/m)
  const own = areas.filter(area => area.split('\n', 1)[0]?.includes(folder))
  return own.reduce((sum, area) => sum + Number(/^Rss: +(\d+) kB$/m.exec(area)?.[1] ?? 0) * 1_024, 0)
}

describe('embedded log in its folder', () => {
  it('uses little memory for a reader without backlog, and returns the same messages to a reader with a backlog', async context => {
    if (process.platform !== 'linux') context.skip('The mapped memory of a process is read from /proc.')
    const folder = newFolder()
    const log = await openLog(folder)
    const [follower, late] = await Promise.all([assignmentOf(log, 'follower', 3), assignmentOf(log, 'late', 3)])
    const text = (index: number): string => String(index % 10).repeat(100_000)
    const followed: string[] = []
    for (let index = 0; index < 400; index += 1) {
      await log.append(recordTopic, 3, textMessage(text(index)))
      for (const { value } of await follower.read(bounds)) followed.push(value.toString())
    }
    const whole = Array.from({ length: 400 }, (_, index) => text(index))
    expect(followed).toEqual(whole)
    const mapped = mappedBytes(folder)
    const read: string[] = []
    while (read.length < whole.length) for (const { value } of await late.read(bounds)) read.push(value.toString())
    expect(read).toEqual(whole)
    expect(mapped).toBeLessThan(10_000_000)
    expect(mappedBytes(folder)).toBeGreaterThan(30_000_000)
    await log.close()
  })

  it('refuses a second opener, even in the same process, with a reason', async () => {
    const folder = newFolder()
    const log = await openLog(folder)
    await expect(openLog(folder)).rejects.toMatchObject({
      code: 'folder_taken',
      retriable: false,
      message: expect.stringContaining(folder),
    })
    await log.close()
    await (await openLog(folder)).close()
  })

  it('refuses a second process', async () => {
    const folder = newFolder()
    const log = await openLog(folder)
    const writer = spawn(process.execPath, [join(import.meta.dirname, 'lmdb-log-writer.ts'), folder])
    let complaint = ''
    writer.stderr.on('data', data => {
      complaint += data
    })
    const code = await new Promise(resolve => writer.on('exit', resolve))
    expect(code).toBe(1)
    expect(complaint).toContain('is in use by another process')
    await log.close()
  })

  it('refuses another number of partitions', async () => {
    const folder = newFolder()
    await (await openLog(folder)).close()
    await expect(openLog(folder, { topics: { [recordTopic]: { partitions: 9 } } })).rejects.toMatchObject({
      code: 'partitions_changed',
    })
    await (await openLog(folder)).close()
  })

  it('refuses a second reader of a group until the first reader ends', async () => {
    const log = await openLog(newFolder())
    const first = await log.subscribe(recordTopic, 'cost-worker', () => undefined)
    await expect(log.subscribe(recordTopic, 'cost-worker', () => undefined)).rejects.toMatchObject({
      code: 'reader_taken',
    })
    await first.close()
    await log.subscribe(recordTopic, 'cost-worker', () => undefined)
    await log.close()
  })
})

describe('retention of the embedded log', () => {
  const small = { topics: { [recordTopic]: { capacityBytes: 20_000, retentionMs: 1_000 } } }

  it('refuses appends with log_full while unread messages use all capacity, and accepts them after a commit', async () => {
    const log = await openLog(newFolder(), small)
    const sent: number[] = []
    const full = await (async () => {
      for (;;) sent.push(await log.append(recordTopic, 0, block('x')))
    })().catch((error: unknown) => error)
    expect(full).toMatchObject({ code: 'log_full', retriable: true })
    expect(sent.length).toBe(18)
    expect((await log.lag(recordTopic, 0, 'cost-worker')).fill).toBeGreaterThan(0.9)
    await log.append(recordTopic, 1, block('other partition'))
    const assignment = await assignmentOf(log, 'cost-worker', 0)
    await assignment.read(bounds)
    await assignment.commit(10)
    expect(await log.append(recordTopic, 0, block('y'))).toBe(18)
    await assignment.rewind()
    expect((await assignment.read(bounds)).map(m => m.offset)).toEqual([10, 11, 12, 13, 14, 15, 16, 17, 18])
    await log.close()
  })

  it('refuses only the appends that do not fit if many appends share a commit', async () => {
    const log = await openLog(newFolder(), small)
    const settled = await Promise.allSettled(Array.from({ length: 40 }, () => log.append(recordTopic, 0, block('x'))))
    const offsets = settled.flatMap(result => (result.status === 'fulfilled' ? [result.value] : []))
    expect(offsets).toEqual(Array.from({ length: 18 }, (_, i) => i))
    await log.close()
  })

  it('trims old messages by age up to the committed offset, and never uses an offset twice, even after a restart', async () => {
    const folder = newFolder()
    let at = 1_000_000
    let log = await openLog(folder, { ...small, now: () => at })
    for (let i = 0; i < 5; i += 1) await log.append(recordTopic, 0, block('x'))
    at += 5_000
    const assignment = await assignmentOf(log, 'cost-worker', 0)
    await assignment.read(bounds)
    await assignment.commit(5)
    for (let i = 0; i < 15; i += 1) await log.append(recordTopic, 0, block('y'))
    expect((await (await assignmentOf(log, 'late', 0)).read(bounds)).map(m => m.offset)[0]).toBe(5)
    await assignment.commit(20)
    at += 5_000
    for (let i = 0; i < 10; i += 1) await log.append(recordTopic, 0, block('z'))
    await log.close()
    log = await openLog(folder, { ...small, now: () => at })
    expect(await log.lag(recordTopic, 0, 'cost-worker')).toMatchObject({ end: 30, committed: 20 })
    expect(await log.append(recordTopic, 0, block('last'))).toBe(30)
    await log.close()
  })
})

describe('embedded log after kill -9', () => {
  it('has every acknowledged message at its offset, without gaps', async () => {
    const folder = newFolder()
    const acknowledged = new Map<number, string>()
    for (let round = 0; round < 3; round += 1) {
      for (const [offset, text] of await writeUntilKilled(folder, round)) {
        expect(acknowledged.has(offset)).toBe(false)
        acknowledged.set(offset, text)
      }
    }
    expect(acknowledged.size).toBeGreaterThan(100)
    const log = await openLog(folder)
    const assignment = await assignmentOf(log, 'check', 0)
    const { end } = await log.lag(recordTopic, 0, 'check')
    for (let next = 0; next < end; ) {
      for (const message of await assignment.read(bounds)) {
        expect(message.offset).toBe(next)
        const text = acknowledged.get(next)
        if (text !== undefined) expect(message.value.toString().trimEnd()).toBe(text)
        acknowledged.delete(next)
        next += 1
      }
    }
    expect([...acknowledged]).toEqual([])
    await log.close()
  })
})

const writeUntilKilled = async (folder: string, round: number): Promise<readonly (readonly [number, string])[]> => {
  const writer = spawn(process.execPath, [join(import.meta.dirname, 'lmdb-log-writer.ts'), folder, String(round)])
  let output = ''
  writer.stdout.on('data', data => {
    if (output === '') setTimeout(() => writer.kill('SIGKILL'), 150 + round * 70)
    output += data
  })
  await new Promise(resolve => writer.on('close', resolve))
  const lines = output.slice(0, output.lastIndexOf('\n')).split('\n')
  return lines.map(line => {
    const [offset = '', text = ''] = line.split(' ')
    return [Number(offset), text] as const
  })
}

describe('embedded log on a full disk', () => {
  it('refuses appends with a retriable failure, retains acknowledged messages, and continues after space is free', async context => {
    const disk = join(newFolder(), 'disk')
    if (!mountSmallDisk(disk, 24)) return context.skip('mounting a small disk needs the rights to mount')
    try {
      let log = await openLog(disk)
      const sent: number[] = []
      const failure = await (async () => {
        for (;;)
          sent.push(await log.append(recordTopic, 0, { ...textMessage(''), value: Buffer.alloc(50_000, sent.length) }))
      })().catch((error: unknown) => error)
      expect(failure).toMatchObject({ name: 'Failure', retriable: true })
      expect(sent.length).toBeGreaterThan(10)
      await log.close()
      execFileSync('mount', ['-o', 'remount,size=48m', disk])
      log = await openLog(disk)
      expect(await log.append(recordTopic, 0, textMessage('room'))).toBe(sent.length)
      const assignment = await assignmentOf(log, 'check', 0)
      const read = (await assignment.read(bounds)).slice(0, sent.length)
      expect(read.map(message => message.value[49_999])).toEqual(sent)
      await log.close()
    } finally {
      unmountDisk(disk)
    }
  })
})
