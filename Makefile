# make                   builds the programs into build/
# make demo              builds into build-demo/ what it takes to chat with models/tiny here, then starts a chat
# make demo ARGS='-t 0'  passes these options on
# make test              builds, then runs every test
# make install           copies program and man page below PREFIX; builds before that only if nothing is built
# make uninstall         removes these two
# make clean             removes what was built
PREFIX = /usr/local
BIN = $(DESTDIR)$(PREFIX)/bin
MAN = $(DESTDIR)$(PREFIX)/share/man/man1

# CMakeLists.txt is the build; the make that it calls is not to feel this one.
CMAKE = MAKEFLAGS= MAKELEVEL= cmake
BUILD = $(CMAKE) --build build --parallel $$(nproc)

.PHONY: all demo test install uninstall clean
all:
	@$(CMAKE) -S . -B build
	@$(BUILD) --target qwen600 qwen600-tiny tokenize prompt

# The chat is no child of CMake's, which a Ctrl-C would end. It would end the shell too, so that ignores it (the chat
# does not); and make must have noticed it before the shell is gone, or else it complains that it lost a child.
demo:
	@$(CMAKE) -S . -B build-demo -DGPU=CARD -DBUILD_TESTING=OFF </dev/null >&2
	@$(CMAKE) --build build-demo --parallel $$(nproc) --target qwen600-tiny </dev/null >&2
	@trap '' INT; build-demo/qwen600-tiny models/tiny $(ARGS) || \
	    { status=$$?; sleep 0.1; test $$status = 130; }

test:
	@$(CMAKE) -S . -B build
	@$(BUILD)
	@MAKEFLAGS= MAKELEVEL= ctest --test-dir build --parallel $$(nproc) --output-on-failure

# Root, who may have no nvcc on the PATH, installs what a user built: only what is missing is built.
build/qwen600:
	@$(MAKE) all
install: build/qwen600
	install -d "$(BIN)" "$(MAN)"
	install build/qwen600 "$(BIN)/qwen600"
	install -m 644 qwen600.1 "$(MAN)/qwen600.1"
uninstall:
	rm -f "$(BIN)/qwen600" "$(MAN)/qwen600.1"

clean:
	@cmake -E rm -rf build build-demo
