import { spawnSync } from 'node:child_process'
import { existsSync, globSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isAlive } from '../../../services/platform/postgres/embedded/postmaster.ts'

const [owner = '', folder = ''] = process.argv.slice(2)

/** Return true if a process was started in this folder. The system can reuse process ids for other programs. */
const isOurs = (pid: number): boolean => {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(folder)
  } catch {
    return false
  }
}

const names = new Set<string>()

// The reaper of the test run interrupts this process, and removes the folder.
process.on('SIGINT', () => undefined)
for (; isAlive(Number(owner)) && existsSync(folder); await sleep(250))
  for (const name of globSync('*', { cwd: join(folder, 'containers') })) names.add(name)
if (names.size > 0) spawnSync('docker', ['rm', '--force', '--volumes', ...names], { stdio: 'ignore' })
if (existsSync(folder)) {
  for (const name of globSync('*', { cwd: join(folder, 'pids') })) {
    const pid = Number(readFileSync(join(folder, 'pids', name), 'utf8'))
    if (isOurs(pid)) process.kill(pid, 'SIGKILL')
  }
  await sleep(100)
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}
