import applock from "./applock.cjs";

export const { Locks, Lease, ApplockError, InvalidArgumentError, LostError, ContentionError, HeldError, VersionError } = applock;
