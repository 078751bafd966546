"""The examination: what is asked (`exercise`), what came back (`evidence`), what it means (`judge`, `verdict`)."""
