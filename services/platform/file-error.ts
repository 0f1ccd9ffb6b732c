const reasons: Readonly<Record<string, string>> = {
  EACCES: 'this user has no permission',
  EPERM: 'this user has no permission',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  ENOENT: 'it does not exist and cannot be created',
  ENOTDIR: 'a folder of the path is a file',
  EEXIST: 'a file with this name exists',
  EISDIR: 'a folder with this name exists',
}

const textOf = (error: Error, name: string): string => (name in error ? String(Reflect.get(error, name)) : '')

/** Return the reason why a file or folder cannot be used, with its path, for the operator. Null for another error. */
export const fileErrorText = (error: Error): string | null => {
  const [code, path] = [textOf(error, 'code'), textOf(error, 'path')]
  const reason = reasons[code]
  return reason === undefined || path === '' ? null : `Cannot use ${path}: ${reason} (${code}).`
}
