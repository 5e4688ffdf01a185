"use strict";

/** An error of this library or of a procedure. Errors of the driver pass through unchanged. */
class ApplockError extends Error {
  /** The SQLSTATE, where there is one: LK001, LK002 or LK003. */
  sqlstate;

  constructor(message, options) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** A mistake of the caller: the same call fails again. */
class InvalidArgumentError extends ApplockError {
  sqlstate = "LK001";
}

/** The grant is not live any more. */
class LostError extends ApplockError {
  sqlstate = "LK002";
}

/** The object changed hands too often during the call: call again. */
class ContentionError extends ApplockError {
  sqlstate = "LK003";
}

/** Another holder has the object: answer has the holder, and how long its lock lasts. */
class HeldError extends ApplockError {
  constructor(answer) {
    super(`held by ${answer.holder?.operator ?? "nobody known"} for ${answer.secondsLeft} s`);
    this.answer = answer;
  }
}

/** The database and this package have different versions of the contract: the message says which to upgrade. */
class VersionError extends ApplockError {}

module.exports = { ApplockError, InvalidArgumentError, LostError, ContentionError, HeldError, VersionError };
