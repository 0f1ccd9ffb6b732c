import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
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

while (isAlive(Number(owner)) && existsSync(folder)) await sleep(250)
if (existsSync(folder)) {
  for (const name of readdirSync(join(folder, 'pids'))) {
    const pid = Number(readFileSync(join(folder, 'pids', name), 'utf8'))
    if (isOurs(pid)) process.kill(pid, 'SIGKILL')
  }
  const containers = join(folder, 'containers')
  if (existsSync(containers))
    spawnSync('docker', ['rm', '--force', '--volumes', ...readdirSync(containers)], { stdio: 'ignore' })
  await sleep(100)
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}
