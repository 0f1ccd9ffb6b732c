import { execFile } from 'node:child_process'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { ensureFolder } from '../kafka/artefacts.ts'

const run = promisify(execFile)
const version = '18.6.3'
const installMs = 240_000

/** The client programs of PostgreSQL as a package of Python, for x64 and arm64. Debian 12 has version 15 only. */
const requirement = `embedded-postgres==${version} \\
  --hash=sha256:321a60b1875b9f1c1856c421ab20dd011d9d5cb58beba8de6551534e64643f65 \\
  --hash=sha256:11811184c07cd042db3d384217f2c0c87d90c8abb5aed326119777b76298e034
`

const install = async (folder: string): Promise<void> => {
  writeFileSync(join(folder, 'requirements.txt'), requirement)
  await run('python3', ['-m', 'venv', 'python'], { cwd: folder, timeout: installMs })
  const flags = ['--quiet', '--disable-pip-version-check', '--no-deps', '--require-hashes', '--only-binary=:all:']
  await run('python/bin/python', ['-m', 'pip', 'install', ...flags, '-r', 'requirements.txt'], {
    cwd: folder,
    timeout: installMs,
  })
}

/** Folder of `pg_dump`, `pg_restore` and `psql`, or the reason why they cannot run. */
export type PostgresTools = { readonly folder: string } | { readonly missing: string }

/** Install the client programs of PostgreSQL once per machine. Prints the reason if that is not possible. */
export const openPostgresTools = async (): Promise<PostgresTools> => {
  try {
    const installed = join(await ensureFolder(`postgresql-${version}`, install), 'python/lib')
    const library = readdirSync(installed)[0] ?? ''
    const folder = join(installed, library, 'site-packages/embedded_postgres/pginstall/bin')
    await run(join(folder, 'pg_dump'), ['--version'])
    return { folder }
  } catch (error) {
    const [missing = ''] = (error instanceof Error ? error.message : String(error)).split('\n')
    process.stderr.write(`skipped: tests with pg_dump: ${missing}\n`)
    return { missing }
  }
}
